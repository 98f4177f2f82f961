; What C and C++ share. A @name that is a declarator stands for the name inside it; `extract` drops what is local.
(function_definition declarator: (_) @name body: (compound_statement) @body) @def.function
(declaration declarator: [(function_declarator) (pointer_declarator (function_declarator)) (pointer_declarator (pointer_declarator (function_declarator)))] @name) @def.prototype
(declaration (type_qualifier) declarator: (init_declarator) @name) @def.constant
(declaration declarator: (_) @name) @def.variable
(type_definition type: [(struct_specifier body: (_) @body) (union_specifier body: (_) @body)] declarator: (type_identifier) @name) @def.struct
(type_definition type: (enum_specifier body: (_) @body) declarator: (type_identifier) @name) @def.enum
(type_definition declarator: (_) @name) @def.type
(struct_specifier name: (type_identifier) @name body: (_) @body) @def.struct
(union_specifier name: (type_identifier) @name body: (_) @body) @def.struct
(enum_specifier name: (type_identifier) @name body: (_) @body) @def.enum
(enumerator name: (identifier) @name) @def.variant
(preproc_function_def name: (identifier) @name value: (preproc_arg) @body) @def.macro
(preproc_def name: (identifier) @name value: (preproc_arg)) @def.macro

(preproc_include) @header
(preproc_include path: (_) @ref.import)

(call_expression function: (identifier) @ref.call)
(call_expression function: (field_expression argument: (_) @qualifier field: (field_identifier) @ref.call))
(type_identifier) @ref.type
(initializer_pair value: (identifier) @ref.use)
