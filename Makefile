# Everything a contributor runs. Needs Python >= 3.11 and Rust; the rest is installed into .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RUST   := $(shell find src -name '*.rs') Cargo.toml Cargo.lock pyproject.toml
CORE   := $(VENV)/.built
DEV    := $(VENV)/.dev
BUILD   = PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --quiet

.DEFAULT_GOAL := help
.PHONY: help demo test test-rust test-python upstream bench stress lint format clean

help:            ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 22

demo: $(CORE)    ## Watch a recorded session stream through the core
	$(BIN)/cogency-rs demo

test: test-rust test-python upstream  ## Run every test

test-rust:       ## The core's own tests, with no Python
	cargo test --quiet --no-default-features

test-python: $(DEV)  ## The package's tests
	$(BIN)/python -m pytest -q

upstream: $(DEV)  ## cogency 3.3.0's own test suite, on our core
	$(BIN)/python tests/upstream.py

bench: $(DEV)   ## Show that parsing is linear, and what the log costs beside cogency
	$(BIN)/python benches/scaling.py
	$(BIN)/python benches/log.py

stress: $(DEV)  ## 10,000 turns with tools of every kind, and 200 kills of a program that writes the log
	COGENCY_RS_STRESS_TURNS=10000 $(BIN)/python -m pytest -q tests/faults/test_stress.py
	COGENCY_RS_KILL_ROUNDS=200 $(BIN)/python -m pytest -q -o timeout=900 tests/faults/test_log.py tests/faults/test_sqlite_crash.py

lint: $(DEV)    ## Formatting and lints, warnings are errors
	cargo fmt --check
	cargo clippy --quiet --all-targets -- -D warnings
	cargo clippy --quiet --all-targets --no-default-features -- -D warnings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

format: $(DEV)  ## Format the sources
	cargo fmt
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format .

clean:           ## Remove what was built
	rm -rf $(VENV) .upstream target dist

$(VENV)/.created:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet 'maturin>=1.16,<2'
	@touch $@

# The release extension, installed in place with what the command line needs.
$(CORE): $(VENV)/.created $(RUST)
	$(BUILD) --extras cli
	@touch $@

# And what the tests need.
$(DEV): $(CORE)
	$(BUILD) --extras cli,dev,parity
	@touch $@
