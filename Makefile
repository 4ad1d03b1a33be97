# Neural Brain: `make demo` runs the main job, `make test` passes the tests. Both install first.
# Installation and progress go to stderr, so that `make -s demo ARGS=--json` prints one JSON document.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

.PHONY: demo test check slow real-input install clean

install: $(VENV)/.installed

$(VENV)/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Neural Brain needs Python 3.11 or newer; set PYTHON=/path/to/python3.11")' >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) >&2
	@echo "Installing the pinned requirements into $(VENV) (some minutes the first time) ..." >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . >&2
	@touch $@

demo: install
	@$(BIN)/brain demo $(ARGS)

test: install
	@$(BIN)/python -m pytest -m "not slow" $(ARGS)

slow: install
	@$(BIN)/python -m pytest -m slow $(ARGS)

check: install
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

real-input: install
	@$(BIN)/python benchmarks/real_input.py $(ARGS)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
