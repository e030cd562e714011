# Everything that a bare Linux machine needs besides Python 3.11+ and make is installed here, locked.

PYTHON ?= python3
ENVIRONMENT := .venv
BIN := $(ENVIRONMENT)/bin
INSTALLED := $(ENVIRONMENT)/installed
SOURCES := runtime backends harness bench tests

.PHONY: help install backend-test test check explore mutants bench format lock clean

help:
	@echo "make backend-test   run every scenario on SQLite and OceanBase"
	@echo "make test           the tests of runtime, backends and harness"
	@echo "make check          lint, format, strict types, scenario files"
	@echo "make explore        500 generated worlds on both engines"
	@echo "make mutants        wrong implementations, and what catches each"
	@echo "make bench          measure against the bounds, write results/bench.json"
	@echo "make format         format the sources"
	@echo "make lock           lock the dependencies anew"

install: $(INSTALLED)

$(INSTALLED): requirements.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is missing: install Python 3.11 or newer, or set PYTHON=..." >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is too old: Python 3.11 or newer is needed, set PYTHON=..." >&2; exit 2; }
	@echo "installing into $(ENVIRONMENT), once (about 500 MB)"
	@$(PYTHON) -m venv $(ENVIRONMENT)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $(INSTALLED)

backend-test: $(INSTALLED)
	@$(BIN)/harness run scenarios

test: $(INSTALLED)
	@$(BIN)/python -m pytest -q -n auto tests

check: $(INSTALLED)
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/mypy
	@$(BIN)/harness lint scenarios

explore: $(INSTALLED)
	@$(BIN)/harness explore --count 500 --seed 1

mutants: $(INSTALLED)
	@$(BIN)/python -m harness.explore.mutants

bench: $(INSTALLED)
	@$(BIN)/python -m bench

format: $(INSTALLED)
	@$(BIN)/ruff check --fix --quiet $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)

lock:
	@$(PYTHON) -m venv build/lock
	@build/lock/bin/python -m pip install --quiet --disable-pip-version-check 'uv==0.13.9'
	@build/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --extra dev \
		--no-annotate --no-header --no-emit-index-url --no-emit-find-links pyproject.toml -o requirements.lock

clean:
	rm -rf $(ENVIRONMENT) build dist results .pytest_cache .mypy_cache .ruff_cache .hypothesis
