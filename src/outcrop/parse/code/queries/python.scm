(class_definition name: (identifier) @name body: (block) @body) @def.class
(function_definition name: (identifier) @name body: (block) @body) @def.function
(module (expression_statement (assignment left: (identifier) @name)) @def.constant)
(module (expression_statement (assignment left: (pattern_list (identifier) @name))) @def.constant)
(module (if_statement consequence: (block (expression_statement (assignment left: (identifier) @name)) @def.constant)))
(module (try_statement body: (block (expression_statement (assignment left: (identifier) @name)) @def.constant)))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name)) @def.field))
(type_alias_statement left: (type (identifier) @name)) @def.type

(class_definition body: (block . (expression_statement (string) @doc)))
(function_definition body: (block . (expression_statement (string) @doc)))

(import_statement) @header
(import_from_statement) @header
(future_import_statement) @header
(import_statement name: (dotted_name) @ref.import)
(import_statement name: (aliased_import name: (dotted_name) @ref.import))
(import_from_statement module_name: (_) @ref.import name: (dotted_name) @imported)
(import_from_statement module_name: (_) @ref.import name: (aliased_import name: (dotted_name) @imported))
(import_from_statement module_name: (_) @ref.import (wildcard_import))

(call function: (identifier) @ref.call)
(call function: (attribute object: (_) @qualifier attribute: (identifier) @ref.call))
(class_definition superclasses: (argument_list (identifier) @ref.inherit))
(class_definition superclasses: (argument_list (attribute object: (_) @qualifier attribute: (identifier) @ref.inherit)))
(class_definition superclasses: (argument_list (subscript value: (identifier) @ref.inherit)))
((type (identifier) @ref.type) (#not-match? @ref.type "^(int|str|bool|float|bytes|object|None|list|dict|tuple|set|type)$"))
(type (attribute object: (_) @qualifier attribute: (identifier) @ref.type))
((type (generic_type (identifier) @ref.type)) (#not-match? @ref.type "^(int|str|bool|float|bytes|object|None|list|dict|tuple|set|type)$"))
((type (binary_operator (identifier) @ref.type)) (#not-match? @ref.type "^(int|str|bool|float|bytes|object|None|list|dict|tuple|set|type)$"))
(decorator (identifier) @ref.call)
(decorator (attribute object: (_) @qualifier attribute: (identifier) @ref.call))
(attribute object: (identifier) @ref.use (#match? @ref.use "^[A-Z]"))
