"""Small changes to the code that no test should let pass. `python -m proofs.mutants` is the command.

`make.py` makes the mutants of a file, `trying.py` runs the tests that reach a changed function against them, and
`accepted.py` lists those that no test can tell from the code, each with the reason.
"""
