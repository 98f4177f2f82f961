(class name: (constant) @name body: (body_statement)? @body) @def.class
(class name: (scope_resolution scope: (_) @scope name: (constant) @name) body: (body_statement)? @body) @def.class
(module name: (constant) @name body: (body_statement)? @body) @def.module
(module name: (scope_resolution scope: (_) @scope name: (constant) @name) body: (body_statement)? @body) @def.module
((method name: (_) @name body: (_)? @body) @def.constructor (#eq? @name "initialize"))
(method name: (_) @name body: (_)? @body) @def.function
(singleton_method object: (constant) @scope name: (_) @name body: (_)? @body) @def.function
(singleton_method name: (_) @name body: (_)? @body) @def.function
((assignment left: (constant) @name right: (call receiver: (constant) @_new method: (identifier) @_how block: (_)? @body)) @def.class (#any-of? @_new "Struct" "Data" "Class") (#any-of? @_how "new" "define"))
(assignment left: (constant) @name) @def.constant
(assignment left: (scope_resolution scope: (_) @scope name: (constant) @name)) @def.constant
((call !receiver method: (identifier) @_how arguments: (argument_list (simple_symbol) @name)) @def.property (#any-of? @_how "attr_reader" "attr_writer" "attr_accessor" "attribute" "mattr_accessor" "cattr_accessor" "class_attribute" "belongs_to" "has_many" "has_one" "has_and_belongs_to_many"))
((call !receiver method: (identifier) @_how arguments: (argument_list . (simple_symbol) @name)) @def.function (#any-of? @_how "alias_method" "define_method" "scope" "define_singleton_method" "def_delegator"))
(alias name: (_) @name) @def.function
((call !receiver method: (identifier) @_how arguments: (argument_list . [(string) (simple_symbol) (pair key: (_) @name)] @name) block: (_) @body) @def.task (#eq? @_how "task"))
((call !receiver method: (identifier) @_how arguments: (argument_list . (_) @name) block: (_) @body) @def.test (#any-of? @_how "describe" "context" "it" "specify" "test" "should" "feature" "scenario" "shared_examples"))
((call receiver: (constant) @_spec method: (identifier) @_how arguments: (argument_list . (_) @name) block: (_) @body) @def.test (#eq? @_spec "RSpec") (#eq? @_how "describe"))

((call method: (identifier) @_how arguments: (argument_list . (string (string_content) @ref.import))) @header (#any-of? @_how "require" "load" "require_dependency"))
((call method: (identifier) @_how arguments: (argument_list . (string) @ref.import)) @header (#eq? @_how "require_relative"))
((call method: (identifier) @_how arguments: (argument_list . (simple_symbol) . (string (string_content) @ref.import))) (#eq? @_how "autoload"))

(superclass (constant) @ref.inherit)
(superclass (scope_resolution scope: (_) @qualifier name: (constant) @ref.inherit))
((call !receiver method: (identifier) @_how arguments: (argument_list (constant) @ref.inherit)) (#any-of? @_how "include" "extend" "prepend" "using"))
((call !receiver method: (identifier) @_how arguments: (argument_list (scope_resolution scope: (_) @qualifier name: (constant) @ref.inherit))) (#any-of? @_how "include" "extend" "prepend" "using"))
((call receiver: (constant) @ref.call method: (identifier) @_new) (#eq? @_new "new"))
((call receiver: (scope_resolution scope: (_) @qualifier name: (constant) @ref.call) method: (identifier) @_new) (#eq? @_new "new"))
(call receiver: (_) @qualifier method: (identifier) @ref.call (#not-match? @ref.call "^(new|nil\\?|to_s|class|is_a\\?|freeze|dup|send|respond_to\\?)$"))
(call !receiver method: (identifier) @ref.call (#not-match? @ref.call "^(new|require|require_relative|load|autoload|include|extend|prepend|attr_reader|attr_writer|attr_accessor|private|public|protected|module_function|private_constant|raise|puts|print|lambda|proc|loop|describe|context|it|specify|should|alias_method|define_method)$"))
(scope_resolution scope: (_) @qualifier name: (constant) @ref.use)
(call receiver: (constant) @ref.use)
(argument_list (constant) @ref.use)
(exceptions (constant) @ref.use)
