((rule (targets (word) @name) (recipe)? @body) @def.target (#not-match? @name "^\\.[A-Z_]+$"))
(rule (targets (variable_reference) @name) (recipe)? @body) @def.target
(rule (targets (concatenation) @name) (recipe)? @body) @def.target
(variable_assignment name: (word) @name) @def.variable
(shell_assignment name: (word) @name) @def.variable
(define_directive name: (word) @name value: (_)? @body) @def.macro

(include_directive) @header
(include_directive filenames: (list (word) @ref.import))
((rule (targets . (word) @_what) normal: (prerequisites (word) @ref.use)) (#not-match? @_what "^\\.[A-Z_]+$"))
(rule order_only: (prerequisites (word) @ref.use))
(variable_reference (word) @ref.use)
