"""The page: a search, its reasons, the library, the map, chat and evals, in a browser, with nothing to build."""
