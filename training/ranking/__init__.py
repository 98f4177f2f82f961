"""How the order of hits and their scores are learnt: questions with known answers, what the engine knows of each
candidate, and the weights that are fitted to them."""
