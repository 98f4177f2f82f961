((class_declaration declaration_kind: "extension" name: (_) @name body: (_) @body) @def.extension)
((class_declaration declaration_kind: "struct" name: (_) @name body: (_) @body) @def.struct)
((class_declaration declaration_kind: "enum" name: (_) @name body: (_) @body) @def.enum)
(class_declaration name: (type_identifier) @name body: (_) @body) @def.class
(protocol_declaration name: (type_identifier) @name body: (_) @body) @def.protocol
(enum_entry name: (simple_identifier) @name) @def.variant
((function_declaration) @def.function (#set! name "simple_identifier"))
((function_declaration) @def.operator (#set! name "custom_operator bang == != < > <= >= + - * / % += -= === | & ^ ~ << >>"))
(protocol_function_declaration name: [(simple_identifier) "==" "<" "+"] @name) @def.method
(init_declaration name: "init" @name body: (_)? @body) @def.constructor
(deinit_declaration "deinit" @name body: (_)? @body) @def.destructor
(subscript_declaration "subscript" @name (computed_property)? @body) @def.method
(typealias_declaration name: (type_identifier) @name) @def.type
(associatedtype_declaration name: (type_identifier) @name) @def.type
(macro_declaration (simple_identifier) @name definition: (_)? @body) @def.macro
(operator_declaration (custom_operator) @name) @def.operator
((property_declaration name: (_ bound_identifier: (simple_identifier) @name) computed_value: (_)? @body) @def.property (#set! inside "class_body enum_class_body"))
(protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @name) (protocol_property_requirements)) @def.property
((property_declaration (value_binding_pattern mutability: "let") name: (_ bound_identifier: (simple_identifier) @name)) @def.constant (#set! inside "source_file"))
((property_declaration name: (_ bound_identifier: (simple_identifier) @name) computed_value: (_)? @body) @def.variable (#set! inside "source_file"))

(import_declaration) @header
(import_declaration (identifier) @ref.import)

(inheritance_specifier inherits_from: (user_type (type_identifier) @ref.inherit .))
(inheritance_specifier inherits_from: (user_type (type_identifier) @ref.inherit . (type_arguments)))
(attribute (user_type (type_identifier) @ref.use))
(call_expression . (simple_identifier) @ref.call)
(call_expression . (navigation_expression target: (_) @qualifier suffix: (navigation_suffix suffix: (simple_identifier) @ref.call)))
(user_type (type_identifier) @qualifier . (type_identifier) @ref.type)
(user_type . (type_identifier) @ref.type)
(navigation_expression target: (simple_identifier) @ref.use (#match? @ref.use "^[A-Z]"))
