(create_table (object_reference schema: (_)? @scope name: (identifier) @name) . (_)? @body) @def.table
(create_table (column_definitions (column_definition name: (identifier) @name) @def.field))
(create_view (object_reference schema: (_)? @scope name: (identifier) @name) (create_query)? @body) @def.view
(create_materialized_view (object_reference schema: (_)? @scope name: (identifier) @name) (create_query)? @body) @def.view
(create_function (keyword_function) . (object_reference schema: (_)? @scope name: (identifier) @name) (function_body)? @body) @def.function
(create_index column: (identifier) @name (index_fields)? @body) @def.index
(create_trigger (keyword_trigger) . (object_reference schema: (_)? @scope name: (identifier) @name)) @def.trigger
(create_type (object_reference schema: (_)? @scope name: (identifier) @name)) @def.type
(create_sequence (object_reference schema: (_)? @scope name: (identifier) @name)) @def.sequence
(create_schema (identifier) @name) @def.schema
(create_extension (identifier) @ref.use) @header

(relation (object_reference schema: (_)? @qualifier name: (identifier) @ref.use))
(from (object_reference schema: (_)? @qualifier name: (identifier) @ref.use))
(insert (object_reference schema: (_)? @qualifier name: (identifier) @ref.use))
(alter_table (object_reference schema: (_)? @qualifier name: (identifier) @ref.use))
(drop_table (object_reference schema: (_)? @qualifier name: (identifier) @ref.use))
(create_index (keyword_on) . (object_reference schema: (_)? @qualifier name: (identifier) @ref.use))
(create_trigger (keyword_on) . (object_reference schema: (_)? @qualifier name: (identifier) @ref.use))
(create_trigger (keyword_function) . (object_reference schema: (_)? @qualifier name: (identifier) @ref.call))
(column_definition (keyword_references) . (object_reference schema: (_)? @qualifier name: (identifier) @ref.use))
(constraint (keyword_references) . (object_reference schema: (_)? @qualifier name: (identifier) @ref.use))
(invocation (object_reference schema: (_)? @qualifier name: (identifier) @ref.call))
