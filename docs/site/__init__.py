"""How does the documentation become a site? `python -m docs.site`, or `make docs`.

Pages are Markdown files of this repository, in the order of `contents.py`. Below `<!-- made: NAME -->` in a page stands
what `made.py` makes from the code or from the results of the benchmarks; `make pages` writes it there. `render.py`
turns a page into HTML, `build.py` writes the files and refuses broken links and pages that are out of date.

A build of our own, because what a generator would do for us is little: the reference is made from click, dataclasses,
the OpenAPI and tables of this code, for which none has a plug-in that reads Markdown docstrings. markdown-it-py and
pygments come with rich, so nothing new is installed. Measured in November 2026: mkdocs-material takes 123 MB in 29
distributions and names unpkg.com in its script, Sphinx with a theme 75 MB in 33, plain mkdocs 16 MB in 16 with its last
release in 2024. The site is plain files: no server, no fonts or scripts from elsewhere, search included.
"""
