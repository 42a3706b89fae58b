# Everything happens in one virtual environment (.venv); system packages are never touched.
# `make run` and `make test` are all that most people need; `make help` lists the rest.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
SOURCES := pyproject.toml CMakeLists.txt $(shell find src include python -name '*.cc' -o -name '*.h' -o -name '*.py' -o -name '*.pyi')

.PHONY: help run test test-python test-native lint docs sanitize wheel wheel-smoke bench clean

help:            ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

run: $(VENV)/.installed  ## install and run the whole workflow on the CPU, printing each step
	$(BIN)/python examples/workflow.py

test: test-native test-python  ## install what the tests need and run them

test-python: $(VENV)/.test-tools
	$(BIN)/python -m pytest -n $(JOBS) $(PYTEST_ARGS)

test-native: $(VENV)/.test-tools
	tools/native-tests.sh $(BIN)

lint: $(VENV)/.lint-tools  ## ruff, mypy, clang-format
	tools/lint.sh $(BIN)

docs: $(VENV)/.docs-tools  ## build the site, running the code in it
	tools/docs.sh $(BIN)

sanitize: $(VENV)/.test-tools  ## native and runtime tests under address, undefined and thread sanitizers
	tools/sanitize.sh $(BIN)

wheel: $(VENV)/.installed  ## build the wheel into dist/
	rm -rf dist && $(BIN)/python -m pip wheel -q --no-deps -w dist .

wheel-smoke: wheel  ## install the one wheel under every Python that can be found, and run the workflow
	tools/wheel-smoke.sh dist/*.whl

bench: $(VENV)/.bench-tools  ## measure against NumPy, torch and apache-tvm-ffi
	$(BIN)/python benchmarks/array.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(SOURCES) | $(VENV)/bin/python
	@echo "installing into $(VENV); compiling the runtime takes about a minute"
	$(BIN)/python -m pip install -q --disable-pip-version-check .
	@touch $@

$(VENV)/.test-tools: $(VENV)/.installed
	$(BIN)/python tools/install-extra.py test
	@touch $@

$(VENV)/.lint-tools: $(VENV)/.test-tools
	$(BIN)/python tools/install-extra.py lint
	@touch $@

$(VENV)/.docs-tools: $(VENV)/.test-tools
	$(BIN)/python tools/install-extra.py docs
	@touch $@

$(VENV)/.bench-tools: $(VENV)/.test-tools
	$(BIN)/python tools/install-extra.py bench
	@touch $@

clean:           ## remove what was built
	rm -rf build dist $(VENV) docs/_build
