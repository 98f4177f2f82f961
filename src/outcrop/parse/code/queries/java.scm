(class_declaration name: (identifier) @name body: (class_body) @body) @def.class
(interface_declaration name: (identifier) @name body: (interface_body) @body) @def.interface
(annotation_type_declaration name: (identifier) @name body: (_) @body) @def.interface
(enum_declaration name: (identifier) @name body: (enum_body) @body) @def.enum
(enum_constant name: (identifier) @name) @def.variant
(record_declaration name: (identifier) @name body: (class_body) @body) @def.record
(method_declaration name: (identifier) @name body: (block) @body) @def.method
(method_declaration name: (identifier) @name) @def.method
(annotation_type_element_declaration name: (identifier) @name) @def.method
(constructor_declaration name: (identifier) @name body: (constructor_body) @body) @def.constructor
(compact_constructor_declaration name: (identifier) @name body: (block) @body) @def.constructor
((field_declaration (modifiers) @_how declarator: (variable_declarator name: (identifier) @name)) @def.constant (#match? @_how "static[^\"]* final|final[^\"]* static"))
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @def.field
(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @def.constant

(package_declaration) @header
(import_declaration) @header
((import_declaration "static" (scoped_identifier scope: (_) @ref.import name: (identifier) @imported) .))
(import_declaration "static" (scoped_identifier) @ref.import (asterisk))
(import_declaration . "import" . (scoped_identifier) @ref.import)
(import_declaration . "import" . (identifier) @ref.import)

(superclass (type_identifier) @ref.inherit)
(superclass (generic_type (type_identifier) @ref.inherit))
(superclass (scoped_type_identifier (_) @qualifier . (type_identifier) @ref.inherit))
(type_list (type_identifier) @ref.inherit)
(type_list (generic_type (type_identifier) @ref.inherit))
(type_list (scoped_type_identifier (_) @qualifier . (type_identifier) @ref.inherit))
(object_creation_expression type: (type_identifier) @ref.call)
(object_creation_expression type: (generic_type (type_identifier) @ref.call))
(object_creation_expression type: (scoped_type_identifier (_) @qualifier . (type_identifier) @ref.call))
(method_invocation object: (_) @qualifier name: (identifier) @ref.call)
(method_invocation name: (identifier) @ref.call)
(method_reference . (_) @qualifier (identifier) @ref.use .)
(marker_annotation name: (identifier) @ref.use)
(annotation name: (identifier) @ref.use)
(scoped_type_identifier (_) @qualifier . (type_identifier) @ref.type)
(type_identifier) @ref.type
(method_invocation object: (identifier) @ref.use (#match? @ref.use "^[A-Z]"))
(field_access object: (identifier) @ref.use (#match? @ref.use "^[A-Z]"))
