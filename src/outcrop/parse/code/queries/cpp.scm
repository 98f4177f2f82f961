; MACRO(suite, name) { … } and MACRO(name) { … }: a test, or a function that a macro defines
((function_definition !type declarator: (function_declarator declarator: (identifier) @_macro
    parameters: (parameter_list . (parameter_declaration type: (_) @scope) . (parameter_declaration type: (_) @name) .)) body: (_) @body) @def.test
  (#match? @_macro "^(TYPED_)?TEST(_[A-Z]+)?$"))
((function_definition !type declarator: (function_declarator declarator: (identifier) @_macro
    parameters: (parameter_list . (parameter_declaration type: (_) @name) .)) body: (_) @body) @def.function (#match? @_macro "^[A-Z][A-Z0-9_]+$"))
(function_definition !type declarator: (function_declarator declarator: [(identifier) (qualified_identifier name: (identifier))] @name) body: (compound_statement) @body) @def.constructor
(function_definition declarator: (_) @name (default_method_clause)) @def.function
(function_definition declarator: (_) @name (delete_method_clause)) @def.function
(field_declaration declarator: [(function_declarator) (pointer_declarator (function_declarator)) (reference_declarator (function_declarator))] @name) @def.prototype
(declaration declarator: (reference_declarator (function_declarator)) @name) @def.prototype
(declaration declarator: (init_declarator declarator: (function_declarator)) @name) @def.prototype
(class_specifier name: (_) @name body: (_) @body) @def.class
(struct_specifier name: [(template_type) (qualified_identifier)] @name body: (_) @body) @def.struct
(alias_declaration name: (type_identifier) @name) @def.type
(concept_definition name: (identifier) @name) @def.type
(namespace_definition name: (_) @name) @scope.of

(using_declaration) @header
(namespace_alias_definition) @header

(base_class_clause [(type_identifier) @ref.inherit (template_type name: (type_identifier) @ref.inherit)])
(base_class_clause (qualified_identifier scope: (_) @qualifier name: [(type_identifier) @ref.inherit (template_type name: (type_identifier) @ref.inherit)]))
(new_expression type: [(type_identifier) @ref.call (template_type name: (type_identifier) @ref.call)])
(new_expression type: (qualified_identifier scope: (_) @qualifier name: (type_identifier) @ref.call))
(compound_literal_expression type: (type_identifier) @ref.call)
(call_expression function: (qualified_identifier scope: (_) @qualifier name: [(identifier) @ref.call (template_function name: (identifier) @ref.call)]))
(call_expression function: (qualified_identifier name: (qualified_identifier scope: (_) @qualifier name: (identifier) @ref.call)))
(call_expression function: (template_function name: (identifier) @ref.call))
(call_expression function: (field_expression argument: (_) @qualifier field: (template_method name: (field_identifier) @ref.call)))
(qualified_identifier scope: (_) @qualifier name: [(type_identifier) @ref.type (template_type name: (type_identifier) @ref.type)])
