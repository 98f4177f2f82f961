(rule_set (selectors) @name (block) @body) @def.rule
(media_statement . (_) @name (block) @body) @def.media
(supports_statement . (_) @name (block) @body) @def.supports
(keyframes_statement (keyframes_name) @name (_) @body) @def.keyframes
(at_rule (at_keyword) @name . (block) @body) @def.rule
(at_rule (at_keyword) . (_) @name (block) @body) @def.layer
((rule_set (selectors) @_where (block (declaration (property_name) @name) @def.constant)) (#match? @_where ":root|:host|^html|\\[data-theme") (#match? @name "^--"))

(charset_statement) @header
(import_statement) @header
(import_statement (string_value) @ref.import)
(import_statement (call_expression (arguments (string_value) @ref.import)))
((call_expression (function_name) @_how (arguments . (plain_value) @ref.use)) (#eq? @_how "var"))
((declaration (property_name) @_what (plain_value) @ref.use) (#any-of? @_what "animation" "animation-name"))
