(function_declaration name: (identifier) @name body: (block) @body) @def.function
(function_declaration name: (identifier) @name) @def.prototype
(method_declaration receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @scope (pointer_type (type_identifier) @scope) (generic_type type: (type_identifier) @scope) (pointer_type (generic_type type: (type_identifier) @scope))]))
  name: (field_identifier) @name body: (block) @body) @def.method
(type_declaration . "type" . (type_spec name: (type_identifier) @name type: (struct_type (field_declaration_list) @body))) @def.struct
(type_declaration . "type" . (type_spec name: (type_identifier) @name type: (interface_type "{" @body))) @def.interface
(type_declaration . "type" . [(type_spec name: (type_identifier) @name) (type_alias name: (type_identifier) @name)]) @def.type
(type_declaration "(" (type_spec name: (type_identifier) @name type: (struct_type (field_declaration_list) @body)) @def.struct)
(type_declaration "(" (type_spec name: (type_identifier) @name type: (interface_type "{" @body)) @def.interface)
(type_declaration "(" [(type_spec name: (type_identifier) @name) (type_alias name: (type_identifier) @name)] @def.type)
(interface_type (method_elem name: (field_identifier) @name) @def.method)
(source_file (const_declaration . "const" . (const_spec name: (identifier) @name)) @def.constant)
(source_file (const_declaration "(" (const_spec name: (identifier) @name) @def.constant))
(source_file (var_declaration . "var" . (var_spec name: (identifier) @name)) @def.variable (#not-eq? @name "_"))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @def.variable)) (#not-eq? @name "_"))

(package_clause) @header
(import_declaration) @header
(import_spec path: (_) @ref.import)

(type_declaration (type_spec type: (struct_type (field_declaration_list (field_declaration !name type: (type_identifier) @ref.inherit)))))
(type_declaration (type_spec type: (struct_type (field_declaration_list (field_declaration !name type: (qualified_type package: (_) @qualifier name: (_) @ref.inherit))))))
(interface_type (type_elem . (type_identifier) @ref.inherit .))
(interface_type (type_elem . (qualified_type package: (_) @qualifier name: (_) @ref.inherit) .))
(call_expression function: (identifier) @ref.call)
(call_expression function: (selector_expression operand: (_) @qualifier field: (field_identifier) @ref.call))
(composite_literal type: (type_identifier) @ref.call)
(composite_literal type: (qualified_type package: (_) @qualifier name: (_) @ref.call))
(qualified_type package: (_) @qualifier name: (type_identifier) @ref.type)
((type_identifier) @ref.type (#not-match? @ref.type "^(string|error|bool|byte|any|rune|u?int(8|16|32|64|ptr)?|float(32|64))$"))
((argument_list (selector_expression operand: (identifier) @qualifier field: (field_identifier) @ref.use)) (#match? @ref.use "^[A-Z]"))
