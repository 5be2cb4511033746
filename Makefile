# Everything happens in .venv, made by the first target that needs it.
# Options: PYTHON=python3.12, NO_APT=1 (install no system package), ARGS='-k name' (for pytest).
SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:

PY := .venv/bin/python
MUJOCO ?= 4.0.0
# One process per core, at most four; ARGS='-n 0' undoes it, as --pdb does.
PYTEST := $(PY) -m pytest -n logical --maxprocesses 4 --dist worksteal

help: ## Show this text
	@sed -nE "s/^([a-z-]+):.*## (.*)/  make \1\t\2/p" Makefile | expand -t 20

setup: ## Make .venv and install the package into it
	@scripts/setup.sh

demo: setup ## Judge the reckless baseline on every suite and write a report
	@scripts/gl.sh
	rm -rf runs/demo
	.venv/bin/libero-safety eval --suite all --policy reckless --episodes 1 --seed 1 --workers 2 --out runs/demo

setup-test:
	@scripts/setup.sh test
	@scripts/gl.sh

test: setup-test ## Run the whole test suite
	$(PYTEST) $(ARGS)

test-fast: setup-test ## Run the tests that take seconds
	$(PYTEST) -m "not slow" $(ARGS)

test-openpi: setup-test ## Test the client against openpi's own server package
	scripts/test-openpi.sh

setup-dev:
	@scripts/setup.sh dev

format: setup-dev ## Format the code
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

lint: setup-dev ## Check style and formatting
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

type: setup-dev ## Check types
	$(PY) -m pyright --pythonpath $(PY)

build: setup-dev ## Build the wheel and try it in a fresh environment
	scripts/wheel.sh

selftest: ## Check the ruler on another MuJoCo, here 4.0.0
	scripts/selftest.sh "$(MUJOCO)"

clean: ## Remove everything made here, except runs
	rm -rf .venv .venv-* dist build .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help setup demo setup-test test test-fast test-openpi setup-dev format lint type build selftest clean
