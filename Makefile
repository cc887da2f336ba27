# Every target sets itself up from requirements.lock; nothing is installed outside this folder,
# except (on a machine whose Python has no venv module) the system package that install.sh names.
.DEFAULT_GOAL := help
BIN := .venv/bin
export PYTHONDONTWRITEBYTECODE ?=
export LANGGRAPH_STRICT_MSGPACK ?= true

help:  ## List what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

.venv/ready: requirements.lock pyproject.toml install.sh
	@sh install.sh

demo: .venv/ready  ## Analyse the sample data with the built-in playbook: no key, no network
	@sh examples/demo.sh

# WORKERS are one more than processors (tests/conftest.py).
WORKERS ?= auto
# Bytecode is written whatever the caller's environment says: each process that a test starts would compile all it imports.
run_tests = code=0; PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -q -n $(WORKERS) --dist loadgroup -m $(1) || code=$$?; echo $$code >.venv/tests-ended; exit $$code

test: .venv/ready  ## Run the tests that touch every promise: some minutes
	@$(call run_tests,"not slow")

test-slow: .venv/ready  ## Run the others: every level, kind and store, real servers, attacks
	@$(call run_tests,slow)

test-all: .venv/ready  ## Run all tests
	@code=0; for tests in test test-slow; do $(MAKE) --no-print-directory $$tests || code=$$?; done; exit $$code

check: lint types test  ## What to run before a commit; CI runs test-slow as well

lint: .venv/ready  ## Style, and arrows between packages
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-cache

format: .venv/ready  ## Rewrite the code in the house style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

types: .venv/ready  ## mypy --strict
	@$(BIN)/mypy

dev: .venv/ready  ## LangGraph server for Studio, on port 2024
	@LANGGRAPH_CLI_NO_ANALYTICS=1 $(BIN)/langgraph dev --no-browser --no-reload --n-jobs-per-worker 4

figures: .venv/ready  ## Print the size of the source: files, lines, importers, duplicates, the longest function
	@$(BIN)/python -m bench.figures

bench: .venv/ready  ## Print the benchmarks' tables
	@$(BIN)/python -m bench

eval: .venv/ready  ## Run the suite SUITE=… (JSON Lines) on the files of DATA=… ; MODEL=… names the model
	@$(BIN)/stepwell eval "$(SUITE)" --data "$(or $(DATA),.)" $(if $(MODEL),--model "$(MODEL)")

FAULTS ?= 1000

chaos: .venv/ready  ## Disturb and resume analyses until FAULTS (1000) faults were done; SEED=… repeats a choice of them; KILLS=1 only kills
	@$(BIN)/python -m tests.chaos --faults $(FAULTS) $(if $(SEED),--seed $(SEED)) $(if $(KILLS),--kills)

PROGRAMS ?= 1000

programs: .venv/ready  ## Run PROGRAMS (1000) random programs, restored at random steps, and compare; SEED=… repeats a choice; PATHS=1 goes back and on
	@$(BIN)/python -m tests.random_programs --programs $(PROGRAMS) $(if $(SEED),--seed $(SEED)) $(if $(PATHS),--paths)

aegra: .venv/ready  ## Three Aegra servers (installed beside, needs Python 3.12) on PostgreSQL, Valkey and S3
	@$(BIN)/pytest -q -m aegra tests/integration/test_aegra.py

load: .venv/ready  ## 200 live sandboxes, then 2,000 sleeping ones; nothing may be left over
	@$(BIN)/python -m tests.load

lock: .venv/ready  ## Resolve requirements.lock and those of the rivals, of Aegra and of Jupyter AI anew
	@$$(command -v uv || echo .uv/bin/uv) pip compile --universal --python-version 3.11 --generate-hashes --no-header --group dev pyproject.toml -q -o requirements.lock
	@$$(command -v uv || echo .uv/bin/uv) pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -c requirements.lock bench/rivals.in -q -o bench/rivals.lock
	@$$(command -v uv || echo .uv/bin/uv) pip compile --universal --python-version 3.12 --generate-hashes --no-header --no-annotate -c requirements.lock --extra postgres --extra s3 --extra server deploy/aegra/requirements.in pyproject.toml -q -o deploy/aegra/requirements.lock
	@$$(command -v uv || echo .uv/bin/uv) pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate examples/jupyter_ai/requirements.in -q -o examples/jupyter_ai/requirements.lock

.PHONY: help demo test test-slow test-all check lint format types dev figures bench eval chaos programs aegra load lock
