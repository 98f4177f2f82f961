(class_declaration name: (identifier) @name body: (declaration_list) @body) @def.class
(class_declaration name: (identifier) @name) @def.class
(struct_declaration name: (identifier) @name body: (declaration_list) @body) @def.struct
(interface_declaration name: (identifier) @name body: (declaration_list) @body) @def.interface
(record_declaration name: (identifier) @name body: (declaration_list) @body) @def.record
(record_declaration name: (identifier) @name) @def.record
(enum_declaration name: (identifier) @name body: (_) @body) @def.enum
(enum_member_declaration name: (identifier) @name) @def.variant
(delegate_declaration name: (identifier) @name) @def.type
(method_declaration name: (identifier) @name body: (_) @body) @def.method
(method_declaration name: (identifier) @name) @def.method
(local_function_statement name: (identifier) @name body: (_) @body) @def.function
(constructor_declaration name: (identifier) @name body: (_) @body) @def.constructor
(constructor_declaration name: (identifier) @name) @def.constructor
(destructor_declaration name: (identifier) @name body: (_) @body) @def.destructor
(operator_declaration operator: _ @name body: (_) @body) @def.operator
(conversion_operator_declaration "operator" @name body: (_) @body) @def.operator
(property_declaration name: (identifier) @name accessors: (_) @body) @def.property
(property_declaration name: (identifier) @name value: (_) @body) @def.property
(indexer_declaration "this" @name [accessors: (_) @body value: (_) @body]) @def.property
(event_declaration name: (identifier) @name accessors: (_) @body) @def.field
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @def.field
((field_declaration (modifier) @_how (variable_declaration (variable_declarator name: (identifier) @name))) @def.constant (#eq? @_how "const"))
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @def.field
(namespace_declaration name: (_) @name) @scope.of
(file_scoped_namespace_declaration name: (_) @name) @scope.rest

(using_directive) @header
(extern_alias_directive) @header
(file_scoped_namespace_declaration) @header
(using_directive name: (_) (_) @ref.import)
(using_directive !name [(qualified_name) (identifier) (alias_qualified_name)] @ref.import)

(base_list (identifier) @ref.inherit)
(base_list (generic_name . (identifier) @ref.inherit))
(base_list (qualified_name qualifier: (_) @qualifier name: (identifier) @ref.inherit))
(base_list (qualified_name qualifier: (_) @qualifier name: (generic_name . (identifier) @ref.inherit)))
(base_list (primary_constructor_base_type type: (identifier) @ref.inherit))
(object_creation_expression type: (identifier) @ref.call)
(object_creation_expression type: (generic_name . (identifier) @ref.call))
(object_creation_expression type: (qualified_name qualifier: (_) @qualifier name: (identifier) @ref.call))
(invocation_expression function: (identifier) @ref.call)
(invocation_expression function: (generic_name . (identifier) @ref.call))
(invocation_expression function: (member_access_expression expression: (_) @qualifier name: (identifier) @ref.call))
(invocation_expression function: (member_access_expression expression: (_) @qualifier name: (generic_name . (identifier) @ref.call)))
(invocation_expression function: (conditional_access_expression condition: (_) @qualifier (member_binding_expression name: (identifier) @ref.call)))
(attribute name: (identifier) @ref.use)
(generic_name . (identifier) @ref.type)
(type_argument_list (identifier) @ref.type)
(_ type: [(identifier) @ref.type (qualified_name qualifier: (_) @qualifier name: (identifier) @ref.type)])
(_ returns: [(identifier) @ref.type (qualified_name qualifier: (_) @qualifier name: (identifier) @ref.type)])
(member_access_expression expression: (identifier) @ref.use (#match? @ref.use "^[A-Z]"))
