(from_instruction (image_spec) as: (image_alias) @name) @def.stage
(from_instruction (image_spec) @name !as) @def.stage
(source_file (arg_instruction (arg_pair name: (_) @name)) @def.variable)
(source_file (env_instruction (env_pair name: (_) @name)) @def.variable)

(from_instruction (image_spec name: (image_name) @ref.use))
((copy_instruction (param) @ref.use) (#match? @ref.use "^--from="))
