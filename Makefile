# `make` prints what can be done. Needs Python 3.11 or newer with venv, Node with npm, and make; everything else is
# installed into .venv and ctfd_twisted/web/assets/node_modules. A second call does only what has changed since.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMPS := .make
CLIENTS := .venv-clients
ASSETS := ctfd_twisted/web/assets
VENDOR := ctfd_twisted/web/static/vendor
AGENT  := $(wildcard agent/setup.py)
TYPED  := ctfd_twisted $(wildcard agent/koth_agent bench) tests

# Options for what is started: make run ARGS="--listen tcp:8080", make test ARGS="-k freeze".
ARGS ?=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run dev test test-unit test-integration test-e2e check format bench demo migrate news dist assets clean

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(STAMPS)/platform $(VENDOR)/.built ## Start a platform on SQLite in ./var at http://127.0.0.1:8000/
	$(if $(ARGS),,@echo "The platform comes up at http://127.0.0.1:8000/ (Control-C ends it)")
	@exec $(BIN)/twistd --nodaemon --pidfile= ctfplatform --data-dir var $(ARGS)

dev: $(STAMPS)/dev $(VENDOR)/.built ## Make an environment to work in: .venv with both packages editable, and all tools

test: $(STAMPS)/dev $(STAMPS)/clients $(VENDOR)/.built ## Run every test: SQLite, a PostgreSQL of its own, real processes, a browser, others' clients
	@.ci/test $(ARGS)

test-unit: $(STAMPS)/dev $(VENDOR)/.built ## Run the tests without sockets, threads or files
	@$(BIN)/pytest -q -n auto --dist loadfile tests/unit $(ARGS)

test-integration: $(STAMPS)/dev $(VENDOR)/.built ## Run the tests with real databases, servers and sockets
	@$(BIN)/pytest -q tests/integration $(ARGS)

test-e2e: $(STAMPS)/dev $(STAMPS)/clients $(VENDOR)/.built ## Run the tests with real processes, a browser and others' clients
	@.ci/test tests/e2e $(ARGS)

check: $(STAMPS)/dev ## Lint, check the format and the types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(TYPED)

format: $(STAMPS)/dev ## Mend the format and what the linter can mend
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

demo: $(STAMPS)/platform $(VENDOR)/.built ## Run a small live competition: platform, hill, agent, webhook receiver, players
	@$(BIN)/ctfplatform demo $(ARGS)

bench: $(STAMPS)/dev $(VENDOR)/.built ## Measure requests against a platform of its own; with ARGS=all, everything
	@$(BIN)/python -m bench $(ARGS)

migrate: $(STAMPS)/platform ## Create or upgrade the database in ./var, or adopt a CTFd one: ARGS="--database URL"
	@$(BIN)/ctfplatform migrate --data-dir var $(ARGS)

news: $(STAMPS)/dev ## Gather newsfragments/ into NEWS.md for the version in ctfd_twisted/__init__.py
	$(BIN)/towncrier build --yes

dist: $(STAMPS)/dev $(VENDOR)/.built ## Build the wheels and source archives of both packages into dist/
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(if $(AGENT),$(BIN)/python -m build --no-isolation --outdir dist agent)

assets: $(VENDOR)/.built ## Fetch what pages use from npm and copy it beside the other static files

clean: ## Remove what was built; the environment, ./var and the database stay
	rm -rf build dist $(STAMPS)/dev $(STAMPS)/platform $(VENDOR) $(ASSETS)/node_modules
	find . -name __pycache__ -not -path './$(VENV)*/*' -prune -exec rm -rf {} +

# -- what the above rests on ------------------------------------------------------------------------------------------

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; say where it is: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS) && touch $@

# Both packages editable, so that twistd finds both stubs and the code that runs is the code that is edited.
$(STAMPS)/platform: setup.py $(AGENT) | $(STAMPS)/venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . $(if $(AGENT),--editable ./agent)
	@touch $@

$(STAMPS)/dev: setup.py $(AGENT) | $(STAMPS)/venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' $(if $(AGENT),--editable ./agent)
	@touch $(STAMPS)/platform $@

# What others have published and tests/e2e/clients uses, apart from what the platform needs.
$(STAMPS)/clients: tests/e2e/clients/requirements.txt | $(STAMPS)/venv
	$(BIN)/python -m venv --clear $(CLIENTS)
	$(CLIENTS)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

$(VENDOR)/.built: $(ASSETS)/package.json $(ASSETS)/package-lock.json $(ASSETS)/build.js
	cd $(ASSETS) && npm ci --silent --no-progress && npm run --silent build
	@touch $@
