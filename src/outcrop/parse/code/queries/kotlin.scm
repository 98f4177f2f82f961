((class_declaration "interface" name: (identifier) @name (class_body)? @body) @def.interface)
((class_declaration (modifiers (class_modifier) @_how) name: (identifier) @name (enum_class_body)? @body) @def.enum (#eq? @_how "enum"))
(class_declaration name: (identifier) @name (class_body)? @body) @def.class
(object_declaration name: (identifier) @name (class_body)? @body) @def.object
(companion_object name: (identifier) @name (class_body)? @body) @def.object
(enum_entry . (modifiers)? . (identifier) @name (class_body)? @body) @def.variant
(function_declaration [(user_type) (nullable_type)] @scope . name: (identifier) @name (function_body)? @body) @def.function
(function_declaration name: (identifier) @name (function_body)? @body) @def.function
(secondary_constructor "constructor" @name (block)? @body) @def.constructor
(type_alias type: (identifier) @name) @def.type
(source_file (property_declaration [(user_type) (nullable_type)] @scope . (variable_declaration (identifier) @name)) @def.property)
((source_file (property_declaration "val" (variable_declaration . (identifier) @name)) @def.constant))
((source_file (property_declaration "var" (variable_declaration . (identifier) @name)) @def.variable))
((class_body (property_declaration (modifiers (property_modifier) @_how) (variable_declaration . (identifier) @name)) @def.constant) (#eq? @_how "const"))
(class_body (property_declaration (variable_declaration . (identifier) @name)) @def.property)
(enum_class_body (property_declaration (variable_declaration . (identifier) @name)) @def.property)
(class_parameter ["val" "var"] . (identifier) @name) @def.property

(package_header) @header
(import) @header
(import (qualified_identifier) @ref.import)

(delegation_specifier (user_type (identifier) @ref.inherit .))
(delegation_specifier (user_type (identifier) @ref.inherit . (type_arguments)))
(delegation_specifier (constructor_invocation (user_type (identifier) @ref.inherit .)))
(delegation_specifier (constructor_invocation (user_type (identifier) @ref.inherit . (type_arguments))))
(delegation_specifier (explicit_delegation . (user_type (identifier) @ref.inherit)))
(annotation (user_type (identifier) @ref.use .))
(annotation (constructor_invocation (user_type (identifier) @ref.use .)))
(call_expression . (identifier) @ref.call)
(call_expression . (navigation_expression (_) @qualifier (identifier) @ref.call .))
(infix_expression (_) . (identifier) @ref.call . (_))
(callable_reference (identifier) @ref.use .)
(user_type (identifier) @qualifier . (identifier) @ref.type)
(user_type . (identifier) @ref.type)
(navigation_expression . (identifier) @ref.use (#match? @ref.use "^[A-Z]"))
