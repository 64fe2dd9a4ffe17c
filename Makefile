# Two commands matter to a newcomer: `make demo` and `make test`. Both set up everything they need.
#
#   PYTHON=python3.12 make demo      another interpreter (a virtual environment per version)
#   GROUPMOCK_LOOP=asyncio make demo plain asyncio instead of uvloop
#   PYTEST="-k join" make test       more words for pytest

SHELL := /bin/sh
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# The interpreter: $PYTHON, else the first of these that starts and is new enough. A pyenv shim may exist and not start; then pyenv's own
# folders are asked.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYENV := $(or $(PYENV_ROOT),$(HOME)/.pyenv)/versions
NAMED := $(PYTHON) $(foreach each,$(patsubst python%,%,$(filter python3.%,$(PYTHON))),$(wildcard $(PYENV)/$(each).*/bin/python))
CANDIDATES := $(strip $(if $(PYTHON),$(NAMED),python3.11 python3.12 python3.13 python3 python $(wildcard $(PYENV)/3.1[1-9].*/bin/python)))
FOUND := $(shell for each in $(CANDIDATES); do if "$$each" -c '$(NEW_ENOUGH)' >/dev/null 2>&1; then echo "$$each"; break; fi; done)
ifndef VENV
VENV := .venv$(if $(PYTHON),-$(if $(FOUND),$(shell "$(FOUND)" -c 'import sys; print("%d.%d" % sys.version_info[:2])'),none))
endif
BIN := $(VENV)/bin
PY := $(BIN)/python
# Another project's environment must not decide what `python -m build` or pytest see.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV
# Tests start hundreds of processes: each would compile all of our packages, which is half of what a server's start takes.
unexport PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The releases of other packages that the verdict belongs to. Users get what pyproject.toml allows.
CONSTRAINTS := $(CURDIR)/constraints.txt
export PIP_CONSTRAINT := $(CONSTRAINTS)

# pytest workers: the stock-client tests are bound by CPU, so more workers than cores only make them late.
WORKERS ?= 2
PRODUCT := codec broker clients pipeline
INTEROP := tests/interop/run tests/interop/matrix tests/interop/transact tests/interop/judges tests/interop/members/python
CODE := $(PRODUCT) $(wildcard tests tools docker benchmarks)

.PHONY: help demo test live search setup newest lint types contracts package matrix bench readme docs site mutations fidelity scenarios ci clean

help:
	@echo "make demo       a server, five stock consumers, and the story of their rebalances (about a minute)"
	@echo "make test       what decides: the same verdict for the same tree, every time"
	@echo "make live       what load or chance may decide, tried three times: stock clients at length, other languages, real Kafka; reports, never refuses"
	@echo "make search     what chance finds, an hour of it (SECONDS=600, SEARCH=\"policies kafka\"); finds become files that make test tries again"
	@echo "make lint       ruff: rules and import order; docstrings are full sentences"
	@echo "make types      mypy, strict"
	@echo "make contracts  who may import whom"
	@echo "make package    the wheel, checked; DIST=FOLDER keeps it and the sdist there"
	@echo "make readme     the code blocks of README and of the pages start and how-to, executed"
	@echo "make docs       what docs/ takes from the program"
	@echo "make site       the pages of docs/ as a site, in site/"
	@echo "make mutations  can the checks fail? small mistakes planted in a copy of the sources (docs/proof/mutations.md)"
	@echo "make fidelity   generated exchanges, Kafka against the core (docs/proof/differential.md); PEER=HOST:PORT judges that broker"
	@echo "make matrix     stock clients judge Kafka and groupmock; half an hour, writes docs/proof/clients.md"
	@echo "make scenarios  what a process death, a bounce and scaling cost, live and virtual; half an hour, writes docs/proof/scenarios.md"
	@echo "make newest     the newest releases of other packages, written to constraints.txt; then make test says whether the tree goes with them"
	@echo "make bench      one table of figures"
	@echo "make ci         everything the gate does"
	@echo "make clean      what was built, not the environments (make clean-venv: those too)"

$(PY):
	@if [ -z "$(FOUND)" ]; then \
	  echo "groupmock needs Python 3.11 or newer; tried: $(CANDIDATES). Name one: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; fi
	@"$(FOUND)" -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(FOUND) cannot make virtual environments (Debian: apt-get install python3-venv)" >&2; exit 1; }
	"$(FOUND)" -m venv "$(VENV)" || { rm -rf "$(VENV)"; exit 1; }

# `pip install --group` came with pip 25.1; the pip that a Python brings may be older.
$(VENV)/.installed-pip: | $(PY)
	"$(PY)" -m pip install --quiet --upgrade "pip>=25.1"
	@touch "$@"

# A stamp per kind of environment: an install happens once, and again when pyproject.toml or constraints.txt changes.
$(VENV)/.installed-demo: pyproject.toml constraints.txt | $(PY)
	"$(PY)" -m pip install --quiet --editable ".[cooperative-aiokafka,cooperative-kafka-python]"
	@touch "$@"

$(VENV)/.installed-test: pyproject.toml constraints.txt $(VENV)/.installed-pip
	"$(PY)" -m pip install --quiet --editable . --group test
	@touch "$@"

$(VENV)/.installed-dev: pyproject.toml constraints.txt $(VENV)/.installed-test
	"$(PY)" -m pip install --quiet --editable . --group dev
	@touch "$@"

setup: $(VENV)/.installed-test

# `make newest` and then `make test` say whether the tree goes with what came out since.
newest: | $(PY)
	"$(PY)" -m venv --clear "$(VENV)-newest"
	PIP_CONSTRAINT= "$(VENV)-newest/bin/python" -m pip install --quiet --upgrade "pip>=25.1"
	PIP_CONSTRAINT= "$(VENV)-newest/bin/python" -m pip install --quiet --editable . --group dev --group browser --group search
	"$(VENV)-newest/bin/python" -m pip freeze --exclude-editable >"$(CONSTRAINTS)"
	rm -rf "$(VENV)-newest"

demo: $(VENV)/.installed-demo
	@"$(PY)" -m groupmock demo

test: $(VENV)/.installed-test
	@"$(PY)" -m pytest -n $(WORKERS) --dist loadgroup --durations=10 $(PYTEST)

live: $(VENV)/.installed-test
	@"$(PY)" -m tools.live $(PARTS)

SECONDS ?= 3600
search: $(VENV)/.installed-test
	@"$(PY)" -m tools.search --seconds $(SECONDS) --workers $(WORKERS) $(SEARCH)

lint: $(VENV)/.installed-dev
	@"$(BIN)/ruff" check $(CODE) $(INTEROP)
	@"$(PY)" -m tools.gate.plain_words

types: $(VENV)/.installed-dev
	@"$(BIN)/mypy"
	@"$(BIN)/mypy" --explicit-package-bases $(filter-out $(PRODUCT),$(CODE))
	@MYPYPATH=codec:broker:clients "$(BIN)/mypy" --strict --config-file= --cache-dir .mypy_cache/users tests/plugin/users_suite.py
	@MYPYPATH=tests/interop "$(BIN)/mypy" tests/interop/run
	@MYPYPATH=tests/interop "$(BIN)/mypy" tests/interop/matrix
	@MYPYPATH=tests/interop "$(BIN)/mypy" tests/interop/transact

contracts: $(VENV)/.installed-dev
	@"$(BIN)/lint-imports" --no-logo --no-cache

package: $(VENV)/.installed-dev
	@"$(PY)" tools/gate/package_check.py $(if $(DIST),--dist "$(DIST)")

readme: $(VENV)/.installed-dev
	@"$(PY)" tools/gate/readme_blocks.py

docs: $(VENV)/.installed-test
	@"$(PY)" -m tools.pages

site: $(VENV)/.installed-dev
	@"$(PY)" -m tools.site_builder

mutations: $(VENV)/.installed-test
	@"$(PY)" -m tools.mutations

matrix: $(VENV)/.installed-test
	@"$(PY)" tests/interop/matrix; code=$$?; "$(PY)" -m tools.pages clients && exit $$code

fidelity: $(VENV)/.installed-test
ifdef PEER
	@mkdir -p build && "$(PY)" -m groupmock probe "$(PEER)" --report html --output "build/fidelity-$(subst :,-,$(PEER)).html"; \
	code=$$?; echo "build/fidelity-$(subst :,-,$(PEER)).html says what $(PEER) keeps and breaks"; exit $$code
else
	@"$(PY)" -m tools.fidelity kafka --log tools/records/fidelity.jsonl $(FIDELITY)
endif

LARGE := range cooperative-sticky design-1/scripted design-2/scripted design-3/scripted
scenarios: $(VENV)/.installed-test
	@"$(PY)" -m groupmock scenario table --live --agree --jobs $(WORKERS) --json tools/records/scenarios-live.json; code=$$?; \
	"$(PY)" -m groupmock scenario table --virtual --jobs $(WORKERS) --json tools/records/scenarios-virtual.json && \
	"$(PY)" -m groupmock scenario table death-at-once death-in-time death-too-late scale-up scale-down --virtual --jobs $(WORKERS) \
	  --members 1000 --partitions 4000 --change 50 --max-moves 50 $(foreach each,$(LARGE),--protocol $(each)) --json tools/records/scenarios-large.json && \
	"$(PY)" -m tools.pages compare scenarios && exit $$code

bench: $(VENV)/.installed-dev
	@"$(PY)" -m benchmarks

ci:
	@CI=true bash .ci/run

clean:
	rm -rf build dist site .cache .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .ci/out
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: clean-venv
clean-venv: clean
	rm -rf .venv .venv-*
