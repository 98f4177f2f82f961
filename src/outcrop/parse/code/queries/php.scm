(class_declaration name: (name) @name body: (declaration_list) @body) @def.class
(interface_declaration name: (name) @name body: (declaration_list) @body) @def.interface
(trait_declaration name: (name) @name body: (declaration_list) @body) @def.trait
(enum_declaration name: (name) @name body: (enum_declaration_list) @body) @def.enum
(enum_case name: (name) @name) @def.variant
((method_declaration name: (name) @name body: (compound_statement)? @body) @def.constructor (#eq? @name "__construct"))
(method_declaration name: (name) @name body: (compound_statement)? @body) @def.method
(function_definition name: (name) @name body: (compound_statement) @body) @def.function
(property_declaration (property_element name: (variable_name (name) @name))) @def.property
(const_declaration (const_element . (name) @name)) @def.constant
((expression_statement (function_call_expression function: (name) @_how arguments: (arguments . (argument (string (string_content) @name))))) @def.constant (#eq? @_how "define"))
(program (expression_statement (assignment_expression left: (variable_name (name) @name))) @def.variable)

(namespace_definition !body) @header
(namespace_use_declaration) @header
(declare_statement) @header
(namespace_use_declaration (namespace_use_clause . [(qualified_name) (name)] @ref.import))
(namespace_use_declaration (namespace_use_clause type: _ . [(qualified_name) (name)] @ref.import))
(namespace_use_declaration (namespace_name) @ref.import body: (namespace_use_group (namespace_use_clause . [(name) (qualified_name)] @imported)))
(require_expression [(string) (binary_expression)] @ref.import)
(require_once_expression [(string) (binary_expression)] @ref.import)
(include_expression [(string) (binary_expression)] @ref.import)
(include_once_expression [(string) (binary_expression)] @ref.import)

(base_clause (name) @ref.inherit)
(base_clause (qualified_name prefix: (_) @qualifier (name) @ref.inherit))
(class_interface_clause (name) @ref.inherit)
(class_interface_clause (qualified_name prefix: (_) @qualifier (name) @ref.inherit))
(class_interface_clause (qualified_name (name) @ref.inherit .))
(base_clause (qualified_name (name) @ref.inherit .))
(use_declaration (name) @ref.inherit)
(use_declaration (qualified_name prefix: (_) @qualifier (name) @ref.inherit))
(function_call_expression function: (name) @ref.call)
(function_call_expression function: (qualified_name (name) @ref.call .))
(member_call_expression object: (_) @qualifier name: (name) @ref.call)
(nullsafe_member_call_expression object: (_) @qualifier name: (name) @ref.call)
(scoped_call_expression scope: (_) @qualifier name: (name) @ref.call)
(object_creation_expression (name) @ref.call (#not-match? @ref.call "^(static|self|parent)$"))
(object_creation_expression (qualified_name (name) @ref.call .))
(named_type (name) @ref.type (#not-match? @ref.type "^(static|self)$"))
(named_type (qualified_name prefix: (_) @qualifier (name) @ref.type))
(type_list (named_type (name) @ref.type))
(attribute [(name) @ref.use (qualified_name (name) @ref.use .)])
(class_constant_access_expression . (name) @ref.use (#not-match? @ref.use "^(static|self|parent)$"))
(class_constant_access_expression . (_) @qualifier (name) @ref.use .)
(scoped_call_expression scope: (name) @ref.use)
(binary_expression "instanceof" right: (name) @ref.type)
