(class_definition name: (identifier) @name body: (template_body)? @body) @def.class
(object_definition name: (identifier) @name body: (template_body)? @body) @def.object
(package_object name: (identifier) @name body: (template_body)? @body) @def.object
(trait_definition name: (identifier) @name body: (template_body)? @body) @def.trait
(enum_definition name: (identifier) @name body: (enum_body)? @body) @def.enum
(simple_enum_case name: (identifier) @name) @def.variant
(full_enum_case name: (identifier) @name) @def.variant
((function_definition name: (identifier) @name body: (_)? @body) @def.constructor (#eq? @name "this"))
(function_definition name: [(identifier) (operator_identifier)] @name body: (_)? @body) @def.function
(function_declaration name: [(identifier) (operator_identifier)] @name) @def.function
(given_definition name: (identifier) @name body: (_)? @body) @def.object
(extension_definition parameters: (parameters (parameter type: (_) @name))) @scope.of
(type_definition name: (type_identifier) @name) @def.type
((val_definition pattern: (identifier) @name) @def.constant (#match? @name "^[A-Z]") (#set! inside "compilation_unit template_body"))
((val_definition pattern: (identifier) @name) @def.property (#set! inside "template_body"))
((var_definition pattern: (identifier) @name) @def.variable (#set! inside "template_body"))
((val_declaration name: (identifier) @name) @def.property (#set! inside "template_body"))
((var_declaration name: (identifier) @name) @def.variable (#set! inside "template_body"))
((val_definition pattern: (identifier) @name) @def.variable (#set! inside "compilation_unit"))
((var_definition pattern: (identifier) @name) @def.variable (#set! inside "compilation_unit"))

(package_clause) @header
(import_declaration) @header
(import_declaration) @use.dotted

(extends_clause type: (type_identifier) @ref.inherit)
(extends_clause (generic_type type: (type_identifier) @ref.inherit))
(extends_clause type: (stable_type_identifier (_) @qualifier (type_identifier) @ref.inherit))
(extends_clause (compound_type (type_identifier) @ref.inherit))
(extends_clause (compound_type (generic_type type: (type_identifier) @ref.inherit)))
(derives_clause type: (type_identifier) @ref.inherit)
(given_definition return_type: (generic_type type: (type_identifier) @ref.inherit))
(annotation name: (type_identifier) @ref.use)
(instance_expression (type_identifier) @ref.call)
(instance_expression (generic_type type: (type_identifier) @ref.call))
(call_expression function: (identifier) @ref.call (#not-eq? @ref.call "this"))
(call_expression function: (field_expression value: (_) @qualifier field: (identifier) @ref.call))
(call_expression function: (generic_function function: (identifier) @ref.call))
(call_expression function: (generic_function function: (field_expression value: (_) @qualifier field: (identifier) @ref.call)))
(infix_expression operator: (identifier) @ref.call)
(stable_type_identifier (_) @qualifier (type_identifier) @ref.type)
(type_identifier) @ref.type
(field_expression value: (identifier) @ref.use (#match? @ref.use "^[A-Z]"))
