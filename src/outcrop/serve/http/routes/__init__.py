"""One module for each group of routes, each with a factory that takes the State."""
