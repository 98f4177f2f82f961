(variable_declaration (identifier) @name (struct_declaration "{" @body)) @def.struct
(variable_declaration (identifier) @name (enum_declaration "{" @body)) @def.enum
(variable_declaration (identifier) @name (union_declaration "{" @body)) @def.union
(variable_declaration (identifier) @name (opaque_declaration "{" @body)) @def.struct
(variable_declaration (identifier) @name (error_set_declaration "{" @body)) @def.enum
[(struct_declaration (function_declaration name: (identifier) @name body: (block)? @body) @def.method)
 (union_declaration (function_declaration name: (identifier) @name body: (block)? @body) @def.method)
 (enum_declaration (function_declaration name: (identifier) @name body: (block)? @body) @def.method)]
(function_declaration name: (identifier) @name body: (block)? @body) @def.function
(test_declaration (string (string_content) @name) (block) @body) @def.test
(test_declaration (identifier) @name (block) @body) @def.test
(struct_declaration (container_field name: (identifier) @name) @def.field)
(union_declaration (container_field name: (identifier) @name) @def.variant)
(enum_declaration (container_field name: (identifier) @name) @def.variant)
((source_file (variable_declaration "const" . (identifier) @name) @def.constant) (#not-match? @def.constant "= *@import"))
((struct_declaration (variable_declaration "const" . (identifier) @name) @def.constant) (#not-match? @def.constant "= *@import"))
((union_declaration (variable_declaration "const" . (identifier) @name) @def.constant))
((enum_declaration (variable_declaration "const" . (identifier) @name) @def.constant))
(source_file (variable_declaration "var" . (identifier) @name) @def.variable)
(struct_declaration (variable_declaration "var" . (identifier) @name) @def.variable)

((source_file (variable_declaration (builtin_function (builtin_identifier) @_how)) @header) (#eq? @_how "@import"))
((builtin_function (builtin_identifier) @_how (arguments . (string) @ref.import)) (#any-of? @_how "@import" "@cInclude" "@embedFile"))

(call_expression function: (identifier) @ref.call)
(call_expression function: (field_expression object: (_) @qualifier member: (identifier) @ref.call))
(parameter type: (identifier) @ref.type)
(container_field type: (identifier) @ref.type)
(function_declaration type: (identifier) @ref.type)
(pointer_type (identifier) @ref.type)
(nullable_type (identifier) @ref.type)
(slice_type (identifier) @ref.type)
(error_union_type (identifier) @ref.type)
(parameter type: (field_expression object: (_) @qualifier member: (identifier) @ref.type))
(struct_initializer . (identifier) @ref.type)
(struct_initializer . (field_expression object: (_) @qualifier member: (identifier) @ref.type))
(field_expression object: (identifier) @ref.use (#match? @ref.use "^[A-Z]"))
