((start_tag (tag_name) @ref.call) (#match? @ref.call "^[A-Z]|-"))
((self_closing_tag (tag_name) @ref.call) (#match? @ref.call "^[A-Z]|-"))
((attribute (attribute_name) @_on (quoted_attribute_value (attribute_value) @ref.use)) (#match? @_on "^(@|v-on:|on)") (#match? @ref.use "^[{]?[A-Za-z_$]+[}]?$"))
((attribute (attribute_name) @_on (attribute_value) @ref.use) (#match? @_on "^(@|v-on:|on)") (#match? @ref.use "^[{]?[A-Za-z_$]+[}]?$"))
