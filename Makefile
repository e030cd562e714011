# Everything that a bare Linux machine needs besides Python 3.11+ and make is installed here, locked.

PYTHON ?= python3
# Of PowerContext, for `make powercontext`; several are possible.
VERSION ?= 1.4.1
# For `make powercontext-test`; any releases from 1.0.0 on.
VERSIONS ?= 1.2.0 1.4.1
ENVIRONMENT := .venv
BIN := $(ENVIRONMENT)/bin
INSTALLED := $(ENVIRONMENT)/installed
SOURCES := runtime backends harness bench tests

.PHONY: help install backend-test powercontext powercontext-test released-test findings report-test docs-test test faults soak fuzz check explore mutants bench effects host-test format lock clean api-generate api-generate-check contract-test

help:
	@echo "make backend-test   run every scenario on SQLite and OceanBase"
	@echo "make powercontext   install a released PowerContext to be a target: VERSION=1.4.1"
	@echo "make powercontext-test  every scenario on released servers, both engines: VERSIONS=\"1.2.0 1.4.1\""
	@echo "make contract-test  the HTTP contract against running servers, the client, and released servers"
	@echo "make api-generate   write the Python that comes from the contract, runtime/http/openapi.yaml"
	@echo "make released-test  the harness's own tests that need released servers"
	@echo "make findings       what released servers do otherwise than the RFC, to be filed"
	@echo "make test           the tests of runtime, backends and harness, without the slow faults"
	@echo "make faults         break engines and the ways to them in every known way, and count what is lost"
	@echo "make report-test    the HTML report in a real Chromium (Debian's package chromium)"
	@echo "make docs-test      the documents: links, and every command with the output that is shown"
	@echo "make host-test      install real agents, and run them on the server and on servers that do wrong"
	@echo "make docker-test    build the images, run the scenarios and the tests that need Docker"
	@echo "make soak           readers and writers at once on both engines, SOAK_SECONDS=300 each"
	@echo "make fuzz           requests and scenario files of any kind, FUZZ_SECONDS=300 for each surface"
	@echo "make check          lint, format, strict types, scenario files"
	@echo "make explore        500 generated worlds on both engines"
	@echo "make mutants        wrong implementations, and what catches each"
	@echo "make bench          measure against the bounds, write results/bench.json"
	@echo "make effects        what form and selection do to bytes, tokens and items: tables, plots"
	@echo "make format         format the sources"
	@echo "make lock           lock the dependencies anew"

install: $(INSTALLED)

$(INSTALLED): requirements.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is missing: install Python 3.11 or newer, or set PYTHON=..." >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is too old: Python 3.11 or newer is needed, set PYTHON=..." >&2; exit 2; }
	@echo "installing into $(ENVIRONMENT), once (about 600 MB)"
	@$(PYTHON) -m venv $(ENVIRONMENT)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $(INSTALLED)

backend-test: $(INSTALLED)
	@$(BIN)/harness run scenarios

test: $(INSTALLED)
	@$(BIN)/python -m pytest -q -n auto -m "not slow and not released and not browser and not docs and not contract and not host" tests
	@echo "left out: tests marked slow (make faults runs them) or released"

# TABLE=docs/faults.md writes what was measured into the document.
faults: $(INSTALLED)
	@$(BIN)/python -m pytest -q tests/faults $(if $(TABLE),--faults-table $(TABLE))

soak: $(INSTALLED)
	@SOAK_SECONDS=$${SOAK_SECONDS:-300} $(BIN)/python -m pytest -q -s tests/soak

fuzz: $(INSTALLED)
	@FUZZ_SECONDS=$${FUZZ_SECONDS:-300} $(BIN)/python -m pytest -q -s tests/security -k "fuzz and not planted"

powercontext: $(INSTALLED)
	@$(BIN)/harness powercontext $(VERSION)

powercontext-test: $(INSTALLED)
	@$(BIN)/harness powercontext $(VERSIONS)
	@$(BIN)/harness run scenarios --twins trailing_blank $(foreach version,$(VERSIONS),--target powercontext==$(version))

released-test: $(INSTALLED)
	@$(BIN)/harness powercontext 0.2.0 1.2.0 1.4.1
	@$(BIN)/python -m pytest -q -m released tests

findings: $(INSTALLED)
	@$(BIN)/harness findings

report-test: $(INSTALLED)
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { echo "chromium is missing: install Debian's package chromium" >&2; exit 2; }
	@$(BIN)/python -m pytest -q tests/harness/test_report.py

# WRITE=yes puts what the commands print into the documents, to be looked at.
docs-test: $(INSTALLED)
	@DOCS_WRITE=$(WRITE) $(BIN)/python -m pytest -q tests/docs

# The hosts are installed once, into the user's cache; one that cannot be is skipped, with the reason.
host-test: $(INSTALLED)
	@$(BIN)/python -m pytest -q -m host tests/hosts

docker-test: $(INSTALLED)
	@docker/test.sh

check: $(INSTALLED)
	@$(BIN)/ruff check $(SOURCES) docs/examples
	@$(BIN)/ruff format --check $(SOURCES) docs/examples
	@$(BIN)/python -m runtime.http.generate --check
	@$(BIN)/mypy
	@$(BIN)/mypy tests/faults/conftest.py
	@$(BIN)/mypy docs/examples
	@$(BIN)/harness lint scenarios
	@$(BIN)/harness fmt --check scenarios

api-generate: $(INSTALLED)
	@$(BIN)/python -m runtime.http.generate

api-generate-check: $(INSTALLED)
	@$(BIN)/python -m runtime.http.generate --check

# With what needs released servers: 0.2.0 knows no assembly yet, and is the old server of the version combinations.
contract-test: api-generate-check
	@$(BIN)/harness powercontext 0.2.0 1.4.1
	@$(BIN)/python -m pytest -q tests/contract

explore: $(INSTALLED)
	@$(BIN)/harness explore --count 500 --seed 1

mutants: $(INSTALLED)
	@$(BIN)/python -m harness.explore.mutants

bench: $(INSTALLED)
	@$(BIN)/python -m bench

# DOCUMENT=docs/effects.md writes the tables into the document.
effects: $(INSTALLED)
	@$(BIN)/python -m bench.effects $(if $(DOCUMENT),--document $(DOCUMENT))

format: $(INSTALLED)
	@$(BIN)/ruff check --fix --quiet $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)

lock:
	@$(PYTHON) -m venv build/lock
	@build/lock/bin/python -m pip install --quiet --disable-pip-version-check 'uv==0.13.9'
	@build/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --extra dev \
		--no-annotate --no-header --no-emit-index-url --no-emit-find-links pyproject.toml -o requirements.lock
	@echo 'powercontext[builtin,server]==1.4.1' | build/lock/bin/uv pip compile --quiet --universal --python-version 3.11 \
		--generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links - \
		-o harness/target/powercontext/requirements.lock
	@build/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
		--no-emit-index-url --no-emit-find-links runtime/hosts/pydantic_ai/requirements.in \
		-o runtime/hosts/pydantic_ai/requirements.lock
	@if command -v npm >/dev/null; then npm install --silent --package-lock-only --ignore-scripts --no-audit --no-fund \
		--omit-lockfile-registry-resolved --prefix runtime/hosts/pi; else echo "runtime/hosts/pi is not locked: npm is missing"; fi

# Releases of PowerContext stay, since they are shared by all checkouts: `harness powercontext` says where they lie.
clean:
	rm -rf $(ENVIRONMENT) build dist results .pytest_cache .mypy_cache .ruff_cache .hypothesis
