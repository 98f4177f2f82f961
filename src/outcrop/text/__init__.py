"""Words, phrases and tokens: what is known of a text by itself."""
