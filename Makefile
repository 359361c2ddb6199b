# make demo: repair a picture.  make test: run every test.  make lint: what CI checks beside them.
# make quick: the tests without browser, Dask cluster, data or long work (pytest's markers), in a minute or so: while writing.
# make golden: write tests/golden.csv again, what every task reaches, and tests/pieces/golden.npz, what every piece of the core gives.
# make pictures: those of docs/studio.md, and the close-ups of docs/results.
# make architecture: the made parts of docs/architecture.md.  make docs: the site, into docs/_build/html.
# make test-napari: the napari widgets in a real viewer, and OME-Zarr by ome-zarr-py, in an environment of their own.
# make test-torch: the tests of torch and deepinv, likewise.
# make test-extras: each extra alone in an empty environment, and its example run there; the sdist; the demo as in the container. Half an hour.
# make torture: every promise of docs/promises.md tried at length, about two hours; TORTURE="3 --seed 7" tries one, otherwise.
PYTHON ?= python3
VENV := .venv
TORCH := .venv-torch
BIN := $(VENV)/bin

.PHONY: demo test test-torch test-napari test-extras quick lint clean browser display golden pictures architecture docs torture

demo: $(VENV)/.installed
	$(BIN)/cosparse demo

test: $(VENV)/.tests browser
	$(BIN)/python -m pytest

# One thread: the tests' pictures are small, and threads that wait for each other take many times as long.
test-torch: $(TORCH)/.tests
	OMP_NUM_THREADS=1 $(TORCH)/bin/python -m pytest --durations=5 tests/interop/test_torch*.py tests/interop/test_deepinv*.py

test-extras: $(VENV)/.tests display
	$(BIN)/python -m pytest --durations=0 tests/test_extras.py --extras all

quick: $(VENV)/.tests
	$(BIN)/python -m pytest -m "not (browser or dask or data or slow)"

# The web page is tested in a real Chromium, the one of the system.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { \
	  root=$$(test "$$(id -u)" = 0 || echo sudo -n); \
	  { $$root apt-get install -y -qq chromium || { $$root apt-get update -qq && $$root apt-get install -y -qq chromium; }; } \
	    >/dev/null 2>&1 || echo "make: no Chromium, and it cannot be installed here; the web page's browser tests are skipped"; }

# napari's tree is large, and needs a Qt: an environment of its own, and a display with OpenGL, which Xvfb and Mesa make.
NAPARI := .venv-napari
test-napari: $(NAPARI)/.tests display
	shown=$$(command -v xvfb-run >/dev/null && echo xvfb-run --auto-servernum); \
	  $$shown $(NAPARI)/bin/python -m pytest tests/interop/test_napari.py tests/cluster/test_multiscales.py

DISPLAY_PACKAGES := xvfb xauth libgl1 libgl1-mesa-dri libglx-mesa0 libegl1 libopengl0 libdbus-1-3 libfontconfig1 libxkbcommon-x11-0 \
  libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-randr0 libxcb-render-util0 libxcb-shape0 libxcb-xinerama0
display:
	@command -v xvfb-run >/dev/null || { \
	  root=$$(test "$$(id -u)" = 0 || echo sudo -n); \
	  { $$root apt-get install -y -qq $(DISPLAY_PACKAGES) || \
	    { $$root apt-get update -qq && $$root apt-get install -y -qq $(DISPLAY_PACKAGES); }; } \
	    >/dev/null 2>&1 || echo "make: no xvfb-run, and it cannot be installed here; without a display the napari tests are skipped"; }

torture: $(VENV)/.tests
	PYTHONPATH=tests $(BIN)/python -m torture $(TORTURE)

golden: $(VENV)/.tests
	$(BIN)/python tests/golden.py
	PYTHONPATH=tests $(BIN)/python -m pieces

architecture: $(VENV)/.tests
	$(BIN)/python tests/architecture.py

pictures: $(VENV)/.tests browser
	$(BIN)/python -m pytest tests/studio/test_studio_pictures.py --studio-pictures docs/images
	$(BIN)/python benchmarks/paper/closeups.py

# Every example runs, those of torch, deepinv and napari where the environments of their tests have been made; each page is looked through
# for links that lead nowhere; a warning fails. Nothing is fetched but packages.
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

$(NAPARI)/.tests: pyproject.toml
	test -x $(NAPARI)/bin/python || $(PYTHON) -m venv $(NAPARI)
	$(NAPARI)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[test-napari]'
	touch $@

$(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@ $(VENV)/.installed

# Any torch from 2.4 on will do. First the pair that is tested, which fits together; torch is the build that pip finds here, on
# some machines one for the processor alone. Where the pair is not to be had, what the extras ask for. deepinv imports
# torchvision, whose file on PyPI is built for CUDA: beside a torch without it, tests/interop/torchvision_declared.py says what is needed.
$(TORCH)/.tests: pyproject.toml Makefile
	test -x $(TORCH)/bin/python || $(PYTHON) -m venv $(TORCH)
	$(TORCH)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 torchvision==0.28.0 \
	  || echo "make: torch 2.13.0 cannot be had here; taking the newest that fits"
	$(TORCH)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[torch,deepinv]' pytest hypothesis matplotlib
	touch $@

clean:
	rm -rf $(VENV) $(NAPARI) $(TORCH) cosparse-demo docs/_build docs/gallery docs/api/generated
