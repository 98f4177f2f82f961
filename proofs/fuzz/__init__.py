"""Inputs that nobody wrote, for everything that reads what others wrote. `python -m proofs.fuzz` is the command.

`targets.py` is the table: each target makes an input (bytes) and checks what must hold of it. `mutate.py` changes real
files of `seeds.py`; `running.py` runs targets in processes that can be killed; `guided.py` lets atheris choose the
inputs by what code they reach; `servers.py` joins the fuzzers of HTTP and MCP.
"""
