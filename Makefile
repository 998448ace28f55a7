# Needs Python 3.11 or 3.12 and make, nothing else. `make setup` once; every other target calls it.
.DEFAULT_GOAL := help
.PHONY: help setup demo notebook test test-long test-all fuzz check format docs pictures bench lock clean

VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
CODE := $(wildcard client features store flows api calibrate tests demo bench docs/notebooks docs/pages)

help:
	@echo "make setup   .venv with the pinned dependencies"
	@echo "make demo    the service and a simulated bank, on http://127.0.0.1:8080"
	@echo "make notebook DATA=DIR   the ready questions on the lake of a data directory, with plots; the demo's without DATA"
	@echo "make test    the tests, without the long ones"
	@echo "make test-long   the long tests: kills under load, two nodes, the browser, the demo, fuzzing; make test-all runs both"
	@echo "make fuzz    a long search for what the service and its OpenAPI document disagree on, from a fresh seed"
	@echo "make check   format, lint, types, import rules"
	@echo "make docs    the generated pages again after a change of a feature, reason, detector, policy or route"
	@echo "make pictures   the pictures of docs/console.md of screens that changed; needs Chromium"
	@echo "make bench   the benchmarks"
	@echo "make lock    pin the dependencies again after a change of pyproject.toml"

setup: $(STAMP)

# A half-made .venv never counts as installed: the stamp is the last thing written.
$(STAMP): pyproject.toml requirements.lock
	@set -e; \
	python=; \
	for name in $(PYTHON) python3.12 python3.11 python3 python; do \
	  if "$$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' 2>/dev/null; \
	  then python=$$name; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "Clearhold needs Python 3.11 or 3.12 with venv, and found neither; name one with: make setup PYTHON=..." >&2; \
	  exit 1; \
	fi; \
	echo "Setting up $(VENV), from $$("$$python" --version)"; \
	$(PY) -c 'import pip, sys; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' 2>/dev/null || \
	  "$$python" -m venv --clear $(VENV); \
	$(PY) -m pip install --quiet --no-compile --disable-pip-version-check --require-hashes -r requirements.lock; \
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .; \
	touch $(STAMP)

demo: setup
	$(VENV)/bin/clearhold demo

# Giving way to the service, like any reader of the lake, and on this machine alone. It asks no registry for updates.
notebook: setup
	$(VENV)/bin/clearhold aside $(VENV)/bin/marimo edit --skip-update-check docs/notebooks/lake.py -- --data '$(or $(DATA),.demo/data)'

test: setup
	$(PY) -m pytest -m "not long" $(PYTEST_OPTIONS)

test-long: setup
	$(PY) -m pytest -m long $(PYTEST_OPTIONS)

test-all: setup
	$(PY) -m pytest $(PYTEST_OPTIONS)

fuzz: setup
	$(PY) -m tests.support.fuzz

check: setup
	$(PY) -m ruff format --check $(CODE)
	$(PY) -m ruff check $(CODE)
	$(PY) -m mypy
	$(VENV)/bin/lint-imports

format: setup
	$(PY) -m ruff format $(CODE)
	$(PY) -m ruff check --fix $(CODE)

docs: setup
	$(PY) -m docs.pages docs

# The pictures of docs/console.md of screens that changed, from a demo in Chromium. Delete one to have it taken again.
pictures: setup
	CLEARHOLD_DRAW_PICTURES=1 $(PY) -m pytest --numprocesses=0 -p no:randomly tests/console/test_pictures.py

bench: setup
	$(PY) -m bench

# Names, versions and hashes only: of everything; for the image, of what runs; and of that with what calibrates cards. All
# have the same versions.
COMPILE := $(VENV)/bin/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet
lock: setup
	$(COMPILE) --extra dev --output-file requirements.lock
	$(COMPILE) --extra build --constraint requirements.lock --output-file requirements.runtime.lock
	$(COMPILE) --extra build --extra calibrate --constraint requirements.lock --output-file requirements.calibrate.lock

clean:
	rm -rf $(VENV) build clearhold.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
