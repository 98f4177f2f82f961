"""How well search works in languages other than English, and from one language into another."""
