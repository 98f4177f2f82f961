(field_definition property: (_) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @def.method
(field_definition property: (_) @name) @def.field
(class_heritage (identifier) @ref.inherit)
(class_heritage (member_expression object: (_) @qualifier property: (property_identifier) @ref.inherit))

; A constant that is only a require() is an import.
(([(lexical_declaration (variable_declarator value: (call_expression function: [(identifier) @_require (call_expression function: (identifier) @_require)])))
   (variable_declaration (variable_declarator value: (call_expression function: [(identifier) @_require (call_expression function: (identifier) @_require)])))
   (lexical_declaration (variable_declarator value: (member_expression object: (call_expression function: (identifier) @_require))))
   (variable_declaration (variable_declarator value: (member_expression object: (call_expression function: (identifier) @_require))))] @header)
  (#eq? @_require "require"))
((member_expression object: (call_expression function: (identifier) @_require arguments: (arguments . (string) @ref.import)) property: (_) @imported) (#eq? @_require "require"))
((variable_declarator name: (object_pattern [(shorthand_property_identifier_pattern) @imported (pair_pattern key: (_) @imported)])
    value: (call_expression function: (identifier) @_require arguments: (arguments . (string) @ref.import))) (#eq? @_require "require"))
