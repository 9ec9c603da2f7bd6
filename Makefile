# Every verb sets itself up: a clone, Python 3.11 or newer and make are enough.

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do $$p -c '' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
BIN := $(VENV)/bin

# What the demo runs on, a quarter of what the tests do: discreet's own requirements.
DEMO_VENV := .demo

# `make lock` alone needs pip-tools, so it lives in its own environment and not in everybody's.
PIP_TOOLS := pip-tools==7.6.2
LOCK_VENV := .cache/lock-venv

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.DEFAULT_GOAL := help
.PHONY: setup demo test lint bench docs figures soak lock clean help python

setup: $(VENV)/.project ## make .venv: pinned packages, and discreet itself in editable mode

demo: $(DEMO_VENV)/.project ## a first private answer, end to end
	$(DEMO_VENV)/bin/discreet demo

test: $(VENV)/.project ## unit tests, pages and doctests
	$(BIN)/pytest -n 2 --dist loadgroup -m "not soak"

lint: $(VENV)/.project ## style, format, types, and imports that only go down
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

bench: $(VENV)/.project ## benchmarks, side by side with peers
	$(BIN)/python bench/run.py

docs: $(VENV)/.project ## run every page under docs/, and the README
	$(BIN)/pytest tests/docs

figures: $(VENV)/.project ## draw the plots of the pages under docs/ anew
	$(BIN)/python docs/figures.py

soak: $(VENV)/.project ## the long tests that `make test` leaves out
	$(BIN)/pytest -m soak --timeout 0

COMPILE = CUSTOM_COMPILE_COMMAND="make lock" $(LOCK_VENV)/bin/pip-compile --quiet --generate-hashes --strip-extras \
    --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-annotate

lock: python ## pin requirements/*.txt anew from pyproject.toml
	test -x $(LOCK_VENV)/bin/python || $(PYTHON) -m venv $(LOCK_VENV)
	$(LOCK_VENV)/bin/python -m pip install --quiet "$(PIP_TOOLS)"
	$(LOCK_VENV)/bin/python requirements/wanted.py dev | $(COMPILE) --output-file requirements/dev.txt -
	$(LOCK_VENV)/bin/python requirements/wanted.py demo | $(COMPILE) --output-file requirements/demo.txt \
	    --constraint requirements/dev.txt -

clean: ## remove what the other verbs made
	rm -rf $(VENV) $(DEMO_VENV) $(LOCK_VENV) .pytest_cache .ruff_cache .import_linter_cache .hypothesis

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | while IFS="$$(printf '\t')" read -r verb what; \
	do printf '  make %-7s %s\n' "$$verb" "$$what"; done

python:
	@$(or $(PYTHON),false) -c "import sys; sys.exit(sys.version_info < (3, 11))" 2>/dev/null || { \
	echo >&2 "discreet needs Python 3.11 or newer; found: $$($(or $(PYTHON),false) --version 2>/dev/null || echo none)."; \
	echo >&2 "Install one, or name it: make PYTHON=/path/to/python3.11 ..."; \
	exit 1; }

# A changed lock makes the environment anew, so that no dropped package lingers. torch has builds for each kind of machine,
# with as many hashes, so its version alone is pinned.
$(VENV)/.packages: requirements/dev.txt requirements/torch.txt | python
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps --requirement requirements/dev.txt
	$(BIN)/python -m pip install --quiet --requirement requirements/torch.txt
	@touch $@

$(VENV)/.project: $(VENV)/.packages pyproject.toml
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(DEMO_VENV)/.packages: requirements/demo.txt | python
	$(PYTHON) -m venv --clear $(DEMO_VENV)
	$(DEMO_VENV)/bin/python -m pip install --quiet --no-compile --require-hashes --no-deps --requirement requirements/demo.txt
	@touch $@

$(DEMO_VENV)/.project: $(DEMO_VENV)/.packages pyproject.toml
	$(DEMO_VENV)/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@
