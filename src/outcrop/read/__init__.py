"""READ PATH: a query becomes ranked hits, explained and packed; `ask.py` is where it starts."""
