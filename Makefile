# Needs Python 3.11 or newer and make. Everything else is fetched into .venv, and for `make check` into further .venv-*.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
  "$$p" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$p"; break; }; done)
VENV := .venv
SAM_VENV := .venv-sam
BIN := $(VENV)/bin
SAM := SAM_CLI_TELEMETRY=0 $(SAM_VENV)/bin/sam
PIP_QUIET := --quiet --disable-pip-version-check --no-input
export UNTHROTTLE_BUILD_PYTHON := $(CURDIR)/$(BIN)/python

.DEFAULT_GOAL := help
.PHONY: help setup demo test check lint format types validate secure build deploy build-host smoke chain sizes bench bench-quick faults faults-quick second-opinion mutants fuzz fuzz-quick load load-quick \
  audit licences sbom locks pictures clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.ready  ## .venv with the `unthrottle` command

# Built anew when what is in it changes; finished only when the stamp is there.
$(VENV)/.ready: requirements-dev.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer with venv and ensurepip was found; nothing was set up." \
	  "Install one (on Debian: python3 python3-venv), or name it: make setup PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "setting up $(VENV) (once, 1 to 3 minutes)"
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install $(PIP_QUIET) --no-deps --require-hashes --requirement requirements-dev.lock
	@$(BIN)/python -m pip install $(PIP_QUIET) --no-deps --no-build-isolation --editable .
	@touch $@

$(SAM_VENV)/.ready: requirements-sam.lock $(VENV)/.ready
	@echo "setting up $(SAM_VENV) with the SAM tools (once, 1 to 2 minutes)"
	@$(SAM_VENV)/bin/python -c '' 2>/dev/null || $(BIN)/python -m venv --clear $(SAM_VENV)
	@$(SAM_VENV)/bin/python -m pip install $(PIP_QUIET) --no-deps --require-hashes --requirement requirements-sam.lock
	@touch $@

demo: setup  ## the post-mortem's incident, healed in the sandbox
	@$(BIN)/unthrottle demo

test: setup  ## every test and every scenario
	@$(BIN)/python -m pytest -n auto

check: lint types test validate build smoke chain faults-quick load-quick fuzz-quick licences sbom audit  ## what CI runs

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: setup  ## let ruff fix what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: setup
	$(BIN)/mypy

validate: $(SAM_VENV)/.ready secure
	$(SAM) validate --lint
	$(SAM_VENV)/bin/cfn-lint member.yaml

# A security linter for templates, apart from everything else: it pins its own boto3.
CHECKOV_VENV := .venv-checkov
$(CHECKOV_VENV)/.ready: requirements-checkov.lock $(VENV)/.ready
	@echo "setting up $(CHECKOV_VENV) with a security linter for templates (once, 1 to 2 minutes)"
	@$(CHECKOV_VENV)/bin/python -c '' 2>/dev/null || $(BIN)/python -m venv --clear $(CHECKOV_VENV)
	@$(CHECKOV_VENV)/bin/python -m pip install $(PIP_QUIET) --no-deps --require-hashes --requirement requirements-checkov.lock
	@touch $@

# Without the network: --skip-download. What is skipped says why, beside the resource.
secure: $(CHECKOV_VENV)/.ready  ## both templates, judged by a security linter
	$(CHECKOV_VENV)/bin/checkov --framework cloudformation --file template.yaml member.yaml --compact --quiet --skip-download

build: $(SAM_VENV)/.ready  ## what is deployed (python3.13, arm64), in .aws-sam
	$(SAM) build
	$(BIN)/python -m scripts.compile_build .aws-sam/build

deploy: build  ## build, and deploy what was built; asks for the parameters
	$(SAM) deploy --guided

# The same build for this machine, so that it can be run here: arm64 wheels do not load on x86.
build-host: $(SAM_VENV)/.ready
	UNTHROTTLE_BUILD_PLATFORM=host $(SAM) build --build-dir .build/host

smoke: build-host .build/runtime/.ready  ## start every built function under Lambda's own bootstrap and send it an event
	$(BIN)/python -m scripts.smoke .build/host .build/runtime

chain: build-host .build/runtime/.ready  ## a whole incident through the built workflow, killed once and resumed
	$(BIN)/python -m scripts.chain .build/host .build/runtime

sizes: build build-host .build/runtime/.ready  ## zipped size, start and memory of each built function
	$(BIN)/python -m scripts.sizes .aws-sam/build .build/host .build/runtime

# What a managed runtime has besides Python: AWS's runtime client, and a boto3.
.build/runtime/.ready: requirements-dev.lock layers/unthrottle/requirements.lock functions/respond/requirements.lock
	@rm -rf .build/runtime && mkdir -p .build/runtime
	@awk '/^[A-Za-z0-9]/ {keep = /^(awslambdaric|simplejson|snapshot-restore-py)==/} keep' requirements-dev.lock \
	  > .build/runtime/client.txt
	@cat layers/unthrottle/requirements.lock functions/respond/requirements.lock | awk '/^[A-Za-z0-9]/ \
	  {keep = /^(boto3|botocore|s3transfer|jmespath|python-dateutil|six|urllib3)==/} keep' > .build/runtime/sdk.txt
	@for part in client sdk; do $(BIN)/python -m pip install $(PIP_QUIET) --no-deps --require-hashes \
	  --target .build/runtime/$$part --requirement .build/runtime/$$part.txt || exit 1; done
	@touch $@

# What is locked: every file by its hash. requirements-*.txt say what is wanted, requirements-*.lock all that it brings.
AUDIT_VENV := .venv-audit
$(AUDIT_VENV)/.ready: requirements-audit.lock $(VENV)/.ready
	@echo "setting up $(AUDIT_VENV) (once)"
	@$(AUDIT_VENV)/bin/python -c '' 2>/dev/null || $(BIN)/python -m venv --clear $(AUDIT_VENV)
	@$(AUDIT_VENV)/bin/python -m pip install $(PIP_QUIET) --no-deps --require-hashes --requirement requirements-audit.lock
	@touch $@

audit: $(AUDIT_VENV)/.ready  ## known vulnerabilities in what is deployed and in our tools, as far as the index tells (AUDIT=--strict)
	$(BIN)/python -m scripts.vulnerabilities $(AUDIT) $(AUDIT_VENV)/bin/pip-audit layers/unthrottle/requirements.lock \
	  functions/respond/requirements.lock requirements-*.lock

# Cloud Custodian's are looked at where it is installed, and whenever it is.
NPM_LOCKS := $(addsuffix /package-lock.json, scripts/bytecode tests/adapters/dynalite pictures)
licences: build $(CHECKOV_VENV)/.ready $(AUDIT_VENV)/.ready  ## of everything that is deployed, and of our tools; fails on one that is not on the list
	$(BIN)/python -m scripts.sbom .aws-sam/build --licences
	$(BIN)/python -m scripts.sbom --licences --tools $(VENV) $(SAM_VENV) $(CHECKOV_VENV) $(AUDIT_VENV) $(wildcard $(C7N_VENV)) $(NPM_LOCKS)

# Held against CycloneDX's own schema, which pip-audit brings.
sbom: build $(AUDIT_VENV)/.ready  ## .build/sbom.json: a bill of materials of the built functions
	@mkdir -p .build
	$(BIN)/python -m scripts.sbom .aws-sam/build --output .build/sbom.json \
	  --schema $(AUDIT_VENV)/lib/python3*/site-packages/cyclonedx/schema/_res/bom-1.5.SNAPSHOT.schema.json

locks: $(AUDIT_VENV)/.ready  ## requirements-*.lock anew from requirements-*.txt
	@for part in dev sam audit checkov c7n; do $(AUDIT_VENV)/bin/uv pip compile --quiet --universal --python-version 3.11.5 \
	  --generate-hashes --no-header --no-annotate --output-file requirements-$$part.lock requirements-$$part.txt || exit 1; done

# Cloud Custodian as released, apart from everything else: it pins its own boto3.
C7N_VENV := .venv-c7n
$(C7N_VENV)/.ready: requirements-c7n.lock $(VENV)/.ready
	@echo "setting up $(C7N_VENV) with Cloud Custodian, to compare with (once)"
	@$(C7N_VENV)/bin/python -c '' 2>/dev/null || $(BIN)/python -m venv --clear $(C7N_VENV)
	@$(C7N_VENV)/bin/python -m pip install $(PIP_QUIET) --no-deps --require-hashes --requirement requirements-c7n.lock
	@$(BIN)/python -m scripts.sbom $(C7N_VENV) --licences --tools
	@touch $@

bench: setup build-host .build/runtime/.ready $(C7N_VENV)/.ready  ## the figures, against what people use today (BENCH="--html FILE")
	@$(BIN)/python -m bench $(BENCH)

bench-quick: setup build-host .build/runtime/.ready $(C7N_VENV)/.ready  ## the same on fewer incidents, in two minutes
	@$(BIN)/python -m bench --quick $(BENCH)

faults: setup  ## break 1,500 calls to AWS, Slack and dagy, one at a time
	@$(BIN)/python -m scripts.faults
	@$(BIN)/python -m scripts.faults --races

DYNALITE := tests/adapters/dynalite
$(DYNALITE)/node_modules/.ready: $(DYNALITE)/package-lock.json
	@cd $(DYNALITE) && npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

second-opinion: setup $(DYNALITE)/node_modules/.ready  ## the state table's conditions, judged by dynalite beside moto (needs node, npm)
	@$(BIN)/python -m pytest tests/adapters/second_opinion.py -n 0

faults-quick: setup  ## a drawn sample of it, in a minute
	@$(BIN)/python -m scripts.faults --quick

mutants: setup  ## change the code a little, a thousand times: does a test notice? (MUTANTS="guardrails --anew")
	@$(BIN)/python -m scripts.mutants --write-docs $(MUTANTS)

fuzz: setup  ## an hour of hostile input, coverage-guided where atheris runs (FUZZ="--minutes 5")
	@$(BIN)/python -m scripts.fuzz $(FUZZ)

fuzz-quick: setup  ## a minute of it
	@$(BIN)/python -m scripts.fuzz --minutes 1

load: build-host .build/runtime/.ready  ## an alarm storm and a junk flood on the built functions, for five minutes each
	@$(BIN)/python -m scripts.load .build/host .build/runtime

load-quick: build-host .build/runtime/.ready  ## ten seconds of each
	@$(BIN)/python -m scripts.load .build/host .build/runtime --seconds 10

CHROMIUM ?= /usr/bin/chromium
pictures: setup  ## Slack messages and the demo's page as PNG, checked in Chromium (needs node, npm, chromium)
	@cd pictures && npm ci --no-audit --no-fund
	@$(BIN)/python pictures/draw.py $(CHROMIUM)

clean:  ## all that make made
	rm -rf $(VENV) $(SAM_VENV) $(CHECKOV_VENV) $(AUDIT_VENV) $(C7N_VENV) .aws-sam .build .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage \
	  scripts/bytecode/node_modules tests/adapters/dynalite/node_modules pictures/node_modules unthrottle-demo.html
