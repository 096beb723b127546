# `make chat` and `make test` need Python 3.11 or newer and nothing else; the first call builds .venv.

PYTHON ?= $(shell for p in python3.14 python3.13 python3.12 python3.11 python3 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo $$p; break; }; done)
BIN := .venv/bin
READY := .venv/ready
# The libraries that the benchmark compares with have an environment of their own: they bring many packages.
PEERS := .venv-bench
PEERS_READY := $(PEERS)/ready

.PHONY: env chat serve test bench bench-server soak clean

env: $(READY)

$(READY): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Frontmind needs Python 3.11 or newer; install it or call: make PYTHON=/path/to/python" >&2; exit 2; }
	@echo "Preparing .venv (once, a minute or two) ..." >&2
	@$(PYTHON) -m venv .venv </dev/null
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--editable '.[chat,dev]' </dev/null >&2
	@touch $@

chat: $(READY)
	@$(BIN)/frontmind chat $(ARGS)

serve: $(READY)
	@$(BIN)/frontmind serve $(ARGS)

test: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/pytest $(ARGS)

bench: $(READY) $(PEERS_READY)
	@$(PEERS)/bin/python -m benchmarks.composing $(ARGS)
	@$(PEERS)/bin/python -m benchmarks.cache_layouts
	@$(BIN)/python -m benchmarks.layouts
	@$(BIN)/python -m benchmarks.dates
	@$(BIN)/python -m benchmarks.month
	@$(BIN)/python -m benchmarks.recall
	@$(BIN)/python -m benchmarks.recall_scale
	@$(BIN)/python -m benchmarks.server_load

bench-server: $(READY)
	@$(BIN)/python -m benchmarks.server_load $(ARGS)

soak: $(READY)
	@$(BIN)/python -m soak.killed_turns $(ARGS)
	@$(BIN)/python -m soak.killed_ingest
	@PYTHONPATH=tests $(BIN)/python -m soak.api_fuzzing

$(PEERS_READY): pyproject.toml
	@echo "Preparing $(PEERS) (once, a minute or two) ..." >&2
	@$(PYTHON) -m venv $(PEERS) </dev/null
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]' </dev/null >&2
	@touch $@

clean:
	rm -rf .venv $(PEERS) .mypy_cache .ruff_cache .pytest_cache .hypothesis
