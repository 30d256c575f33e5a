# Every target sets up what it needs; a second run installs nothing.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
BROWSER := $(VENV)/.browser
WORKERS ?= auto
CRASH  ?= tests/crash

# Where this is set, every process of a test compiles its modules, and pytest rewrites all asserts again in each run.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup quick check test browser screenshots demo format bench crash-pairs edits mutants crds vendor image sbom requirements clean

help: ## show the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

# An environment of a Python that is too old, or that could not be made whole, is no environment: pip would speak in riddles.
VERSION_CHECK := import sys; sys.version_info >= (3, 11) or sys.exit("Freehold needs Python 3.11 or newer, and $(PYTHON) is %d.%d: name another one, for example: make PYTHON=python3.12 $(or $(MAKECMDGOALS),setup)" % sys.version_info[:2])

$(STAMP): requirements/dev.txt pyproject.toml
	@$(BIN)/python -c '$(VERSION_CHECK)' 2>/dev/null || { $(PYTHON) -c '$(VERSION_CHECK)' && rm -rf $(VENV); }
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

setup: $(STAMP) ## install everything into .venv

quick: $(STAMP) ## while you edit: the unit tests that the edit concerns, meta and conformance; a minute
	@PYTHONPATH=tests $(BIN)/python -m quick

check: $(STAMP) ## before a commit: format, lint, types, import contracts, generated files
	@$(BIN)/ruff format --check src tests benchmarks examples
	@$(BIN)/ruff check src tests benchmarks examples
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m freehold.providers.generate --check
	@$(BIN)/python -m freehold.providers.aws.permissions.policy_files --check
	@$(BIN)/python -m freehold.install.generate --check

# A worker that has nothing left takes tests of another one: they were given out in hundreds, and the slow ones are together.
test: $(STAMP) ## before a push: the suite; of crashes, edits and examples a sample (whole: crash-pairs, edits, mutants)
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow"

# The rest of apt's and npm's work is not ours to judge: the tests say what is not here, and skip.
$(BROWSER): $(STAMP) requirements/browser.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements/browser.txt
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null \
		|| { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq \
			&& DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium chromium-driver fonts-dejavu-core; } \
		|| echo "Chromium is not installed: apt-get install chromium chromium-driver" >&2
	@PYTHONPATH=tests $(BIN)/python -m harness.axe || true
	@touch $@

browser: $(BROWSER) ## the live page in a real Chromium (apt: chromium, chromium-driver; npm: axe-core)
	@$(BIN)/python -m pytest -m slow tests/browser

screenshots: $(BROWSER) ## a picture of each view of the live page at 360, 1280 and 2560 px, light and dark: .cache/screenshots
	@PYTHONPATH=tests $(BIN)/python -m harness.screenshots

demo: $(STAMP) ## a cluster on each simulated cloud and the tags of a fleet, told as a story; exit 0 only if every step was checked
	@$(BIN)/freehold demo

format: $(STAMP) ## rewrite to the house format
	@$(BIN)/ruff format src tests benchmarks examples
	@$(BIN)/ruff check --fix src tests benchmarks examples

bench: $(STAMP) ## measure; prints one table and writes benchmarks/results.json; fails if a target is missed
	@$(BIN)/python -m benchmarks

crash-pairs: $(STAMP) ## the crash families whole, in every world, and pairs of faults (CRASH=FILES: some worlds); goes on where it was stopped
	@$(BIN)/python -m pytest -n $(WORKERS) --maxschedchunk 1 -m slow --continue $(CRASH)

edits: $(STAMP) ## every edit of a spec, and the loss of the object, after every pass of a creation; every write of an AWS cluster without its answer; 200 examples of each property; upgrade and rollback, other appliers
	@$(BIN)/python -m pytest -n $(WORKERS) -m "slow or hypothesis" --hypothesis-profile=whole tests/scenario tests/unit
	@env -u KUBECONFIG $(BIN)/python -m pytest -n $(WORKERS) -m slow tests/e2e

mutants: $(STAMP) ## careless edits of safety lines, each on a copy: the tests must notice (ARGS="--only REGEX" for some, "--minutes 15" for a sample)
	@PYTHONPATH=tests $(BIN)/python -m mutants $(ARGS)

crds: $(STAMP) ## generate deploy and the pages about fields
	@$(BIN)/python -m freehold.providers.generate
	@$(BIN)/python -m freehold.providers.aws.permissions.policy_files
	@$(BIN)/python -m freehold.install.generate

# A script of the page that is not ours: its name and version stand in SHA256SUMS, and nothing else is taken.
VENDOR = $(CURDIR)/src/freehold/page/static/vendor
PINNED = $(shell sed -n 's/^. \(@[^ ]*\) \([0-9.]*\) .*/\1@\2/p' $(VENDOR)/SHA256SUMS)

vendor: ## fetch by npm what lies in the page's folder vendor, as it is pinned there
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && cd "$$folder" && \
	npm pack --silent "$(PINNED)" >/dev/null && tar -xzf *.tgz && \
	cp package/dist/dagre.esm.js . && cp package/LICENSE dagre.LICENSE && \
	sha256sum --check --strict "$(VENDOR)/SHA256SUMS" && cp dagre.esm.js dagre.LICENSE "$(VENDOR)"

# The released version and the commit: 0.1.0+g0123456789ab, with .dirty where files differ from it.
REVISION = $(shell git rev-parse HEAD)
VERSION  = $(shell $(BIN)/hatchling version)+g$(shell git rev-parse --short=12 HEAD)$(shell git diff --quiet HEAD || echo .dirty)
BUILDER  = $(firstword $(foreach each,docker podman buildah,$(shell $(each) info >/dev/null 2>&1 && echo $(each))))
IMAGE    = freehold:$(subst +,-,$(VERSION))

image: $(STAMP) ## build the operator's image by docker, podman or buildah (IMAGE=NAME:TAG, BASE=…@sha256:…)
	@test -n "$(BUILDER)" || { echo "no image builder answers here: start docker, podman or buildah" >&2; exit 1; }
	@$(BUILDER) build --tag "$(IMAGE)" --build-arg VERSION="$(VERSION)" --build-arg REVISION="$(REVISION)" $(if $(BASE),--build-arg BASE="$(BASE)") .
	@echo "$(IMAGE)"

sbom: $(STAMP) ## list what the operator is made of, with hashes (CycloneDX): dist/sbom.cdx.json
	@mkdir -p dist
	@$(BIN)/python -W ignore -m cyclonedx_py requirements --pyproject pyproject.toml --output-reproducible --output-file dist/sbom.cdx.json requirements/runtime.txt
	@echo dist/sbom.cdx.json

requirements: $(STAMP) ## pin every dependency by hash again (names no index)
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --extra dev pyproject.toml --output-file requirements/dev.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header pyproject.toml --output-file requirements/runtime.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header requirements/build.in --output-file requirements/build.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header requirements/browser.in --constraint requirements/dev.txt --output-file requirements/browser.txt

clean: ## remove what the targets made
	rm -rf $(VENV) .state .cache dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
