(declarations (signature name: (variable) @name) @def.function)
(declarations (signature name: (prefix_id (operator) @name)) @def.function)
(class_declarations (signature names: (binding_list name: [(variable) @name (prefix_id (operator) @name)])) @def.function)
(declarations (function name: (variable) @name match: (match) @body) @def.function)
(declarations (function (infix operator: (operator) @name) match: (match) @body) @def.function)
(declarations (function name: (prefix_id (operator) @name) match: (match) @body) @def.function)
(declarations (bind name: (variable) @name match: (match) @body) @def.function)
(declarations (foreign_import signature: (signature name: (variable) @name)) @def.function)
(class_declarations (signature name: (variable) @name) @def.function)
(class_declarations (signature name: (prefix_id (operator) @name)) @def.function)
(class_declarations (function name: (variable) @name match: (match) @body) @def.function)
(class_declarations (bind name: (variable) @name match: (match) @body) @def.function)
(class_declarations (default_signature (signature name: (variable) @name)) @def.function)
(instance_declarations (function name: (variable) @name match: (match) @body) @def.function)
(instance_declarations (function (infix operator: (operator) @name) match: (match) @body) @def.function)
(instance_declarations (bind name: (variable) @name match: (match) @body) @def.function)
(data_type name: (name) @name constructors: (_)? @body) @def.data
(newtype name: (name) @name constructor: (_)? @body) @def.newtype
(data_constructor [(prefix name: (constructor) @name) (record name: (constructor) @name)]) @def.variant
(gadt_constructor name: (constructor) @name) @def.variant
(field name: (field_name (variable) @name)) @def.field
(type_synonym name: (name) @name) @def.type
(type_family name: (name) @name closed_family: (_)? @body) @def.type
(data_family name: (name) @name) @def.type
(class name: (name) @name declarations: (_)? @body) @def.class
(instance name: (_) @scope patterns: (_) @name declarations: (_)? @body) @def.instance
(deriving_instance name: (_) @scope patterns: (_) @name) @def.instance
(pattern_synonym (equation synonym: (apply function: (constructor) @name))) @def.constant

(header) @header
(import) @header
(import module: (module) @ref.import)
(import module: (module) @ref.import names: (import_list name: (import_name [variable: (variable) @imported type: (name) @imported])))

(instance name: (name) @ref.inherit)
(deriving_instance name: (name) @ref.inherit)
(deriving classes: (name) @ref.inherit)
(deriving classes: (_ (name) @ref.inherit))
(class context: (context context: (apply constructor: (name) @ref.inherit)))
(class context: (context context: (_ (apply constructor: (name) @ref.inherit))))
(apply function: (variable) @ref.call)
(apply function: (qualified module: (module) @qualifier id: (variable) @ref.call))
(apply function: (constructor) @ref.call)
(match expression: (variable) @ref.use)
(qualified module: (module) @qualifier id: (_) @ref.use)
(apply argument: (constructor) @ref.use)
(name) @ref.type
