# make demo: repair a picture.  make test: run every test.  make lint: what CI checks beside them.
# make quick: the tests without browser, Dask cluster, data or long work (pytest's markers), in a minute or so: while writing.
# make golden: write tests/golden.csv again, what every task reaches.  make pictures: those of docs/studio.md,
# and the close-ups of docs/results.
# make architecture: the made parts of docs/architecture.md.  make docs: the site, into docs/_build/html.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test quick lint clean browser golden pictures architecture docs

demo: $(VENV)/.installed
	$(BIN)/cosparse demo

test: $(VENV)/.tests browser
	$(BIN)/python -m pytest

quick: $(VENV)/.tests
	$(BIN)/python -m pytest -m "not (browser or dask or data or slow)"

# The web page is tested in a real Chromium, the one of the system.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { \
	  root=$$(test "$$(id -u)" = 0 || echo sudo -n); \
	  { $$root apt-get install -y -qq chromium || { $$root apt-get update -qq && $$root apt-get install -y -qq chromium; }; } \
	    >/dev/null 2>&1 || echo "make: no Chromium, and it cannot be installed here; the web page's browser tests are skipped"; }

golden: $(VENV)/.tests
	$(BIN)/python tests/golden.py

architecture: $(VENV)/.tests
	$(BIN)/python tests/architecture.py

pictures: $(VENV)/.tests browser
	$(BIN)/python -m pytest tests/studio/test_studio_pictures.py --studio-pictures docs/images
	$(BIN)/python benchmarks/paper/closeups.py

# Every example runs, each page is looked through for links that lead nowhere; a warning fails. Nothing is fetched but packages.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -b html -W --keep-going --quiet docs docs/_build/html
	@echo "make: docs/_build/html/index.html"

lint: $(VENV)/.tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(VENV)/bin/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'cosparse needs Python 3.11 or newer; set PYTHON=python3.12, say')"
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.tests: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@ $(VENV)/.installed

$(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) cosparse-demo docs/_build docs/gallery docs/api/generated
