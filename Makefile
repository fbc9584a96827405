# Two commands to know: `make demo` (the whole stack with a model in it) and `make test`.
#   make demo PORT=9000   CONCH_HOME=/some/folder make demo   make demo PYTHON=python3.12

# The first Python on PATH that is new enough; python3 itself when none is, so that it says so.
PYTHON ?= $(shell for p in python3 python3.12 python3.11 python3.13; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && exit; done; echo python3)
BIN := .venv/bin
# Compiled modules are kept: without them every process compiles all of Django again.
unexport PYTHONDONTWRITEBYTECODE
CODE := apps controlplane worker demo bench tests manage.py
# Right for two cores: a process spends most of its time waiting for a Triton to load a model.
TEST_WORKERS ?= 4
# The rooms with tables: on SQLite as well as on PostgreSQL.
DATA_TESTS := tests/apps/access tests/apps/deployments tests/apps/fleet tests/apps/registry

.PHONY: help demo run test test-on-sqlite triton faults bench fmt lint setup setup-dev clean

help:
	@echo 'make demo    the whole stack with a real model, three Tritons and traffic'
	@echo 'make run     the same stack without demo data and Tritons'
	@echo 'make test    every check there is'
	@echo 'make faults  every fault on real parts, and docs/reliability.md about it'
	@echo 'make bench   the headline figures (NAME=rollback for one of them)'
	@echo 'make fmt     format the code;  make lint   all checks but the tests'
	@echo 'make clean   remove .venv, caches and the state in .conch/'

demo: setup
	@CONCH_UNDER_MAKE=1 exec $(BIN)/python -m demo

run: setup
	@CONCH_UNDER_MAKE=1 exec $(BIN)/python -m demo --bare

# The one list of checks: `make test` and .ci/run both come here.
test: setup-dev
	@$(MAKE) --no-print-directory --jobs=3 --output-sync lint test-on-sqlite triton
	$(BIN)/python -m pytest -n $(TEST_WORKERS)

test-on-sqlite: setup-dev
	CONCH_TEST_DATABASE=sqlite $(BIN)/python -m pytest -n 2 -q -m "not live and not e2e" $(DATA_TESTS)

# Fetched while the checks run that need none.
triton: setup-dev
	@$(BIN)/python -c 'from demo.parts import triton_environment as it; from tests.demo.home import shared_home; it.prepare_triton(shared_home())'

# Every fault there is, on real parts, in about 20 minutes; writes docs/reliability.md.
faults: setup-dev
	CONCH_FAULTS=write $(BIN)/python -m pytest -n 2 tests/faults -q

lint: setup-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy $(CODE)
	$(BIN)/lint-imports
	DJANGO_SETTINGS_MODULE=tests.settings $(BIN)/python manage.py makemigrations --check --dry-run

bench: setup-dev
	$(BIN)/python -m bench $(NAME)

fmt: setup-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

setup:
	@$(PYTHON) demo/bootstrap.py

setup-dev:
	@$(PYTHON) demo/bootstrap.py --dev

clean:
	rm -rf .venv .conch .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
