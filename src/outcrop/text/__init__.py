"""Words, scripts, phrases, terms and tokens: what a text says without knowing where it comes from."""
