; What JavaScript and TypeScript share.
(function_declaration name: (identifier) @name body: (statement_block) @body) @def.function
(generator_function_declaration name: (identifier) @name body: (statement_block) @body) @def.function
(class_declaration name: (_) @name body: (class_body) @body) @def.class
((method_definition name: (property_identifier) @name body: (statement_block) @body) @def.constructor (#eq? @name "constructor"))
(method_definition name: (_) @name body: (statement_block) @body) @def.method
(lexical_declaration (variable_declarator name: (identifier) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])) @def.function
(variable_declaration (variable_declarator name: (identifier) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])) @def.function
(lexical_declaration (variable_declarator name: (identifier) @name value: (class body: (class_body) @body))) @def.class
(program [(lexical_declaration (variable_declarator name: (identifier) @name)) (variable_declaration (variable_declarator name: (identifier) @name))] @def.constant)
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name)) @def.constant))
(expression_statement (assignment_expression left: (member_expression object: (_) @scope property: (property_identifier) @name) right: [(function_expression body: (_) @body) (arrow_function body: (_) @body) (class body: (_) @body)])) @def.function
(pair key: (property_identifier) @name value: [(function_expression body: (_) @body) (arrow_function body: (_) @body)]) @def.method
(export_statement "default" @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (class body: (_) @body)]) @def.function
(export_statement "default" @name value: [(object) (call_expression)] @body) @def.constant
((expression_statement (call_expression
    function: [(identifier) @_test (member_expression object: (identifier) @_test) (call_expression function: (member_expression object: (identifier) @_test))]
    arguments: (arguments . [(string) (template_string)] @name [(arrow_function body: (_) @body) (function_expression body: (_) @body)]))) @def.test
  (#any-of? @_test "describe" "it" "test" "suite" "bench" "context"))

(import_statement) @header
(program (expression_statement . (string)) @header)
(import_statement source: (string) @ref.import)
(import_statement (import_clause (named_imports (import_specifier name: (_) @imported))) source: (string) @ref.import)
(export_statement source: (string) @ref.import)
(export_statement (export_clause (export_specifier name: (_) @imported)) source: (string) @ref.import)
(call_expression function: (identifier) @_require arguments: (arguments . (string) @ref.import) (#eq? @_require "require"))
(call_expression function: (import) arguments: (arguments . (string) @ref.import))

(new_expression constructor: [(identifier) @ref.call (member_expression object: (_) @qualifier property: (property_identifier) @ref.call)])
((call_expression function: (identifier) @ref.call) (#not-match? @ref.call "^(require|describe|it|test|expect)$"))
(call_expression function: (member_expression object: (_) @qualifier property: (property_identifier) @ref.call))
(decorator (identifier) @ref.call)
(member_expression object: (identifier) @ref.use (#match? @ref.use "^[A-Z]"))
