(function_definition name: (word) @name body: (_) @body) @def.function
(program (variable_assignment name: (variable_name) @name) @def.variable)
(program (compound_statement (variable_assignment name: (variable_name) @name) @def.variable))
(program (declaration_command (variable_assignment name: (variable_name) @name)) @def.variable)
(program (compound_statement (declaration_command (variable_assignment name: (variable_name) @name)) @def.variable))

((command name: (command_name) @_how . argument: (_) @ref.import) (#any-of? @_how "source" "."))
((program (command name: (command_name) @_how . argument: (_)) @header) (#any-of? @_how "source" "."))

(command name: (command_name (word) @ref.call) (#not-match? @ref.call "^(source|\\.|:|\\[|\\[\\[|alias|bg|bind|break|builtin|caller|cat|cd|chmod|command|continue|cp|cut|declare|dirname|echo|eval|exec|exit|export|false|fg|find|getopts|grep|hash|head|jobs|kill|let|local|ls|mkdir|mv|popd|printf|pushd|pwd|read|readonly|return|rm|sed|set|shift|shopt|sleep|sort|tail|test|times|tr|trap|true|type|ulimit|umask|unalias|uniq|unset|wait|wc|xargs|awk|basename|touch|tee)$"))
