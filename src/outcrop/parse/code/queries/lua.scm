(function_declaration name: (dot_index_expression table: (_) @scope field: (identifier) @name) body: (block)? @body) @def.function
(function_declaration name: (method_index_expression table: (_) @scope method: (identifier) @name) body: (block)? @body) @def.method
(function_declaration name: (identifier) @name body: (block)? @body) @def.function
(chunk (assignment_statement (variable_list name: (dot_index_expression table: (_) @scope field: (identifier) @name)) (expression_list value: (function_definition body: (block)? @body))) @def.function)
(chunk (assignment_statement (variable_list name: (identifier) @name) (expression_list value: (function_definition body: (block)? @body))) @def.function)
(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @name) (expression_list value: (function_definition body: (block)? @body)))) @def.function)
(table_constructor (field name: (identifier) @name value: (function_definition body: (block)? @body)) @def.function)
((function_call name: (identifier) @_how arguments: (arguments . (string content: (string_content) @name) . (function_definition body: (block)? @body))) @def.test (#any-of? @_how "describe" "it" "context" "test"))
(chunk (assignment_statement (variable_list name: (dot_index_expression table: (_) @scope field: (identifier) @name))) @def.field)
(chunk (assignment_statement (variable_list name: (identifier) @name)) @def.variable)
((chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @name))) @def.variable) (#not-match? @def.variable "require *[(\"']"))

((chunk (variable_declaration (assignment_statement (variable_list name: (identifier)) (expression_list value: (function_call name: (identifier) @_how)))) @header) (#eq? @_how "require"))
((function_call name: (identifier) @_how arguments: (arguments . (string content: (string_content) @ref.import))) (#any-of? @_how "require" "dofile" "include"))

(function_call name: (identifier) @ref.call (#not-match? @ref.call "^(require|describe|it|context|pairs|ipairs|type|print|tostring|tonumber|assert|error|pcall|setmetatable|getmetatable|select|unpack|next|rawget|rawset)$"))
(function_call name: (dot_index_expression table: (_) @qualifier field: (identifier) @ref.call))
(function_call name: (method_index_expression table: (_) @qualifier method: (identifier) @ref.call))
(arguments (dot_index_expression table: (_) @qualifier field: (identifier) @ref.use))
