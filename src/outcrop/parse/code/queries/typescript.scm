(abstract_class_declaration name: (_) @name body: (class_body) @body) @def.class
(interface_declaration name: (_) @name body: (_) @body) @def.interface
(type_alias_declaration name: (_) @name) @def.type
(enum_declaration name: (_) @name body: (_) @body) @def.enum
(enum_body (property_identifier) @name @def.variant)
(enum_body (enum_assignment name: (_) @name) @def.variant)
(internal_module name: (_) @name) @scope.of
(module name: (_) @name) @scope.of
(function_signature name: (identifier) @name) @def.prototype
(method_signature name: (_) @name) @def.method
(abstract_method_signature name: (_) @name) @def.method
(public_field_definition name: (_) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @def.method
(public_field_definition name: (_) @name) @def.field
(ambient_declaration [(lexical_declaration (variable_declarator name: (identifier) @name)) (variable_declaration (variable_declarator name: (identifier) @name))] @def.constant)
(internal_module body: (statement_block (export_statement (lexical_declaration (variable_declarator name: (identifier) @name)) @def.constant)))

(import_require_clause source: (string) @ref.import)
(import_alias) @header

(extends_clause value: (identifier) @ref.inherit)
(extends_clause value: (member_expression object: (_) @qualifier property: (property_identifier) @ref.inherit))
(implements_clause (type_identifier) @ref.inherit)
(implements_clause (generic_type name: (type_identifier) @ref.inherit))
(implements_clause (generic_type name: (nested_type_identifier module: (_) @qualifier name: (_) @ref.inherit)))
(extends_type_clause type: (type_identifier) @ref.inherit)
(extends_type_clause type: (generic_type name: (type_identifier) @ref.inherit))
(nested_type_identifier module: (_) @qualifier name: (type_identifier) @ref.type)
(type_identifier) @ref.type
