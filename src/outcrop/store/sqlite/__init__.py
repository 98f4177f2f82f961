"""The store on SQLite: one file."""
