# Every target sets up the environment that it needs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test test-spark test-spark35 test-bounds test-browser test-wheel test-databases test-hostile fuzz audit docs lint format bench paper clean

help:  ## this list
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/dev: $(VENV)/core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(VENV)/core  ## release the words of the bundled arXiv titles
	$(BIN)/dpsu demo

test: $(VENV)/dev  ## the core tests
	$(BIN)/python -m pytest -n 2 --dist worksteal

$(VENV)/spark: $(VENV)/core
	$(PYTHON) -m venv $(VENV)/spark-env
	$(VENV)/spark-env/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[spark]' 'pytest>=8'
	@touch $@

test-spark: $(VENV)/spark  ## the Spark engine, on a session of this machine and on a cluster of namespaces; needs Java 17
	command -v ip >/dev/null || (apt-get update --quiet && apt-get install --yes --no-install-recommends iproute2) || echo 'There is no ip here, and iproute2 cannot be installed: the tests on several hosts are skipped.'
	$(VENV)/spark-env/bin/python -m pytest -q tests/engines/test_contract.py tests/engines/spark

$(VENV)/spark35: $(VENV)/core
	$(PYTHON) -m venv $(VENV)/spark35-env
	$(VENV)/spark35-env/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[spark]' 'pyspark==3.5.*' 'pytest>=8'
	@touch $@

test-spark35: $(VENV)/spark35  ## the same with Spark 3.5, for one task and the barrier stage: what takes about two minutes
	$(VENV)/spark35-env/bin/python -m pytest -q tests/engines/spark/test_jobs.py tests/engines/spark/test_engine.py::test_spark_releases_what_this_machine_does

test-bounds: $(VENV)/dev  ## compiled loops with their bounds checked
	cache=$$(mktemp -d) && NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$$cache $(BIN)/python -m pytest -n 2 -q tests/kernels tests/randomness tests/sets tests/engines/test_contract.py; status=$$?; rm -rf $$cache; exit $$status

audit: $(VENV)/dev  ## attacks on every family; on Focused Gaussian, a million runs each
	$(BIN)/python -m pytest -n 2 -q tests/audit
	$(BIN)/python -m pytest -q -s tests/audit/long_audit.py

test-browser: $(VENV)/dev  ## the report in Chromium, from Debian's packages
	command -v chromium >/dev/null || (apt-get update --quiet && apt-get install --yes --no-install-recommends chromium)
	$(BIN)/python -m pytest -q tests/browser

test-databases: $(VENV)/dev  ## a real PostgreSQL, from Debian's packages
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || (apt-get update --quiet && apt-get install --yes --no-install-recommends postgresql) || echo 'PostgreSQL cannot be installed here: its tests are skipped.'
	$(BIN)/python -m pytest -q tests/databases

test-wheel: $(VENV)/dev  ## the built wheel, where nothing else is installed
	$(BIN)/python -m pytest -q tests/wheel

fuzz: $(VENV)/dev  ## ten thousand hostile inputs and calls
	DPSU_HOSTILE=long $(BIN)/python -m pytest -n 2 -q tests/hostile/test_fuzz.py tests/verification/test_fuzz.py

test-hostile: $(VENV)/dev  ## fuzzing, kills and huge inputs, at length: about half an hour
	DPSU_HOSTILE=long $(BIN)/python -m pytest -q tests/hostile

$(VENV)/docs: $(VENV)/core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

docs: $(VENV)/docs  ## the documentation as a site, in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo 'Read it, with search: $(BIN)/python -m http.server --directory build/site'

lint: $(VENV)/dev  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/dev  ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/dev  ## speed and memory, as ratios in one run, into docs/performance.md; ARGS=--quick for a small one
	$(BIN)/python -m benchmarks $(ARGS)

paper: $(VENV)/dev  ## the paper's tables and figures, into docs/paper; ARGS=--quick for a tenth of the users
	$(BIN)/python -m experiments.paper $(ARGS)

clean:  ## remove the environment and all caches
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
