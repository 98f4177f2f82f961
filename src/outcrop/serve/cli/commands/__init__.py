"""One module for each family of commands; the table in `serve.cli` says which."""
