(function_item name: (identifier) @name body: (block) @body) @def.function
(trait_item body: (declaration_list (function_signature_item name: (identifier) @name) @def.method))
(function_signature_item name: (identifier) @name) @def.prototype
(struct_item name: (type_identifier) @name body: (field_declaration_list) @body) @def.struct
(struct_item name: (type_identifier) @name) @def.struct
(union_item name: (type_identifier) @name body: (_) @body) @def.struct
(enum_item name: (type_identifier) @name body: (_) @body) @def.enum
(enum_variant name: (identifier) @name) @def.variant
(trait_item name: (type_identifier) @name body: (_) @body) @def.trait
(type_item name: (type_identifier) @name) @def.type
(associated_type name: (type_identifier) @name) @def.type
(source_file (const_item name: (identifier) @name) @def.constant)
(declaration_list (const_item name: (identifier) @name) @def.constant)
(source_file (static_item name: (identifier) @name) @def.variable)
(declaration_list (static_item name: (identifier) @name) @def.variable)
(macro_definition name: (identifier) @name . ["{" "("] @body) @def.macro
(mod_item name: (identifier) @name body: (_)) @scope.of
(impl_item type: [(type_identifier) @name (generic_type type: [(type_identifier) @name (scoped_type_identifier name: (_) @name)]) (scoped_type_identifier name: (_) @name)
  (reference_type type: [(type_identifier) @name (generic_type type: (type_identifier) @name)]) (primitive_type) @name]) @scope.impl
(impl_item !type_parameters type: [(tuple_type) (array_type) (unit_type) (pointer_type)] @name) @scope.impl

(use_declaration) @header
(mod_item !body) @header
(extern_crate_declaration) @header
(use_declaration argument: (_) @use.tree)
(extern_crate_declaration name: (identifier) @ref.import)
(mod_item name: (identifier) @ref.import !body)

(impl_item trait: (type_identifier) @ref.inherit)
(impl_item trait: (scoped_type_identifier path: (_) @qualifier name: (_) @ref.inherit))
(impl_item trait: (generic_type type: (type_identifier) @ref.inherit))
(impl_item trait: (generic_type type: (scoped_type_identifier path: (_) @qualifier name: (_) @ref.inherit)))
(trait_item bounds: (trait_bounds (type_identifier) @ref.inherit))
(trait_item bounds: (trait_bounds (scoped_type_identifier path: (_) @qualifier name: (_) @ref.inherit)))
(trait_item bounds: (trait_bounds (generic_type type: (type_identifier) @ref.inherit)))

(macro_invocation macro: (identifier) @ref.call)
(macro_invocation macro: (scoped_identifier path: (_) @qualifier name: (_) @ref.call))
(call_expression function: (identifier) @ref.call)
(call_expression function: (scoped_identifier path: (_) @qualifier name: (identifier) @ref.call))
(call_expression function: (field_expression value: (_) @qualifier field: (field_identifier) @ref.call))
(generic_function function: (identifier) @ref.call)
(generic_function function: (scoped_identifier path: (_) @qualifier name: (identifier) @ref.call))
(generic_function function: (field_expression value: (_) @qualifier field: (field_identifier) @ref.call))
(scoped_identifier path: (identifier) @ref.type (#match? @ref.type "^[A-Z]"))
(scoped_type_identifier path: (_) @qualifier name: (type_identifier) @ref.type)
(type_identifier) @ref.type
(arguments (scoped_identifier path: (_) @qualifier name: (identifier) @ref.use))
