"""Lists of candidates to ordered, explained hits."""
