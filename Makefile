# make demo: set everything up and do the main job.  make test: set everything up and pass the tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: setup browser demo docs pages check test coverage lint format lock audit try release compare clean
setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml requirements.lock models/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --requirement requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable . --editable ./models
	touch $@

# The page is tested in a real browser. Only where there is none, and where packages can be installed.
browser:
	@command -v chromium >/dev/null || \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; }

demo: setup
	bash scripts/demo.sh

# The documentation as a site, in .artifacts/site: plain files, open index.html. Broken links fail, and so do pages that
# are not what the code says now: `make pages` writes what is made from code and results into README and docs.
docs: setup
	$(BIN)/python -m docs.site

pages: setup
	$(BIN)/python -m benchmarks.readme
	$(BIN)/python -m docs.site --pages
	$(BIN)/python -m scripts.record
	$(BIN)/python -m scripts.greeting

# Lint and the fast tests, in under a minute; before every commit.
check: setup
	$(BIN)/python -m scripts.check

# Two at a time, a file of tests each; those that take longest come first (tests/conftest.py).
test: setup browser lint docs
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# Which branches the tests take, and whether that is enough; takes twice as long as the tests alone.
coverage: setup browser
	$(BIN)/python -m scripts.coverage

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Versions only, no addresses: the lock installs from whichever index the machine is set up for.
lock:
	$(BIN)/uv pip compile --quiet --universal --group dev --no-emit-index-url --no-header --no-annotate \
	  --python-version 3.11 pyproject.toml --output-file requirements.lock

# Asks PyPI for known vulnerabilities; the rest of the audit is part of the tests.
audit: setup
	$(BIN)/python -m scripts.audit --vulnerabilities

# The wheel on every Python that is here, installed as people do; and a rehearsal of a release (RELEASING.md).
try: setup
	$(BIN)/python -m scripts.try_wheel

release: setup
	$(BIN)/python -m scripts.release

# Outcrop beside its peers, each installed into a place of its own (7 GB under .artifacts). Without anything: on this
# project's own files. DATA: a folder of labelled sets. REPOSITORIES: labelled repositories, checked out in REPOS.
# QUICK=1 takes minutes. docs/explanation/compare.md is written from a run with all of them.
compare: setup
	$(BIN)/python -m benchmarks.compare $(if $(DATA),--data $(DATA)) $(if $(QUICK),--quick) \
	  $(if $(REPOSITORIES),--repositories $(REPOSITORIES) --repos $(REPOS)) $(COMPARE)

clean:
	rm -rf $(VENV) .demo .artifacts
