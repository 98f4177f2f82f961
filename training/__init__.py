"""How the models that ship with Outcrop are made. Not installed with it; see README.md beside this file."""
