"""Child processes: how they are started, and how one talks to them."""
