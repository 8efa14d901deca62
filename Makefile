# SPDX-License-Identifier: Apache-2.0
# Everything that is done with a checkout. CI calls only these targets.

SHELL := /bin/bash
# Else each command that a test starts compiles its modules again.
unexport PYTHONDONTWRITEBYTECODE
.DEFAULT_GOAL := help
venv := .venv
lock := requirements.lock
bin := $(venv)/bin
extension := $(venv)/extension.stamp
sources := $(wildcard native/*.h native/*/*.[ch]) native/build_ffi.py
# Folders whose C is laid out by clang-format.
c_folders := native $(wildcard native/*) tests/native tests/fuzz tests/helpers bench/native
c_files := $(filter-out native/_querytape.c,$(wildcard $(addsuffix /*.[ch],$(c_folders))))
rounds ?= 7
minutes ?= 60
events ?= 50000000
pairs ?= 200
damages ?= 500
kills ?= 200
comparisons ?= 20
# Of the tests: more than a machine of 2 cores has, for many wait for servers.
workers ?= 3

.PHONY: help setup names servers demo fleet-demo test-fast test test-long test-c test-native native-tsan pytest-long damages test-latest upgrade lint texts format fuzz mutants bench numbers soak soak-follow volume verdicts neighbours docs site wheel test-wheel test-image release-check samples clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(extension) $(venv)/tests.stamp $(bin)/promtool ## install what is missing, make .venv, build

# The system's packages are looked at once; a new requirement in the script looks again.
$(venv)/system.stamp: scripts/setup-system scripts/find-python
	@scripts/setup-system
	@mkdir -p $(venv) && touch $@

# What the tests use besides: the demo does without.
$(venv)/tests.stamp: scripts/setup-system $(venv)/system.stamp
	@scripts/setup-system tests
	@touch $@

# Its package would start a service and bring a browser's libraries: the one program is taken out of it.
$(bin)/promtool: $(venv)/python.stamp
	@cd $(venv) && apt-get download -q=2 prometheus >/dev/null 2>&1 && \
		dpkg-deb --fsys-tarfile prometheus_*.deb | tar --extract --strip-components=3 --directory bin ./usr/bin/promtool && \
		touch bin/promtool; rm -f prometheus_*.deb; test -x bin/promtool

# The versions and hashes of the lock file; without one (make test-latest) the newest that setup.py allows.
$(venv)/python.stamp: setup.py pyproject.toml docs/requirements.txt $(lock) $(venv)/system.stamp
	@echo "Making the virtual environment $(venv) and installing querytape into it"
	@test -x $(bin)/python || "$$(scripts/find-python)" -m venv $(venv)
ifneq ($(lock),)
	@$(bin)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $(lock)
	@$(bin)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
else
	@$(bin)/python -m pip install --quiet --disable-pip-version-check --upgrade --editable '.[dev]'
endif
	@touch $@ $(extension)

# The installation above has built the extension already; afterwards only changed sources build it again.
$(extension): $(sources) $(venv)/python.stamp
	@if find $(sources) -newer $@ | grep -q . || ! ls native/*.so >/dev/null 2>&1; then \
		echo "Building the native extension"; \
		$(bin)/python setup.py --quiet build_ext --inplace --force; \
	fi
	@touch $@

servers: $(venv)/python.stamp ## fetch MySQL 5.7, 8.0 and 9, MariaDB 11.8 for the tests into .servers/, build an S3 server
	@scripts/setup-system tests
	@scripts/fetch-debian-server
	@scripts/fetch-mysql 8.0.31 5.7.22
	@scripts/go-install github.com/versity/versitygw/cmd/versitygw v1.8.0

demo: $(extension) ## record a workload, replay it on two servers, compare
	@$(bin)/querytape demo

fleet-demo: $(extension) ## replay one tape set with three drivers on three hosts (network namespaces; as root)
	@rm -rf build/fleet-demo; $(bin)/python -m querytape.demo.fleet build/fleet-demo

# The tiers of tests (docs/testing.md): a test has the marks of what it needs, and `long`.
pytest := -m pytest -n $(workers) --dist loadfile --no-loadscope-reorder --durations=20

test-fast: setup ## the tests that need no server, no browser and no wheel (args=tests/capture)
	@$(bin)/python $(pytest) -m "not server and not browser and not slow and not long" $(args)

test: setup servers ## all tests but the long ones: in C plain and under ASan, on real servers, a minute of broken input (args=tests/capture: a part)
ifneq ($(args),)
	@$(bin)/python $(pytest) -m "not long" $(args)
else
	@mkdir -p build; $(MAKE) --no-print-directory test-c >build/test-c.log 2>&1 & c=$$!; \
	$(bin)/python $(pytest) -m "not long"; python=$$?; \
	wait $$c || { tail -60 build/test-c.log; exit 1; }; \
	grep -E '^== .* for |exec_per_sec' build/test-c.log; exit $$python
endif

# At the same time as the tests in Python, which often wait for servers.
test-c: test-native
	@PYTHON=$(bin)/python scripts/fuzz 5

test-native: setup ## the tests in C with clang: plain and under AddressSanitizer
	@$(MAKE) --no-print-directory -C tests/native -O -j 2 CC=clang test asan

# Its parts come one after the other, whatever becomes of those before; the last line names those that failed.
long_parts := native-tsan pytest-long damages mutants verdicts neighbours wheel test-wheel test-image

test-long: setup servers ## hours: TSan, chance, drivers, TPC-C, kills, damages, mutants, verdicts, wheel (args=tests/whole/drivers)
ifneq ($(args),)
	@$(bin)/python -m pytest -m long --durations=20 $(args)
else
	@failed=""; for part in $(long_parts); do \
		echo "== $$part"; $(MAKE) --no-print-directory $$part || failed="$$failed $$part"; \
	done; [ -z "$$failed" ] || { echo "== failed:$$failed" >&2; exit 1; }
endif

native-tsan: setup
	@$(MAKE) --no-print-directory -C tests/native CC=clang tsan
	@$(MAKE) --no-print-directory -C tests/native CC=clang STEP=1 asan

pytest-long: setup
	@$(bin)/python -m pytest -m long --durations=20

damages: setup
	@QT_DAMAGES=$(damages) $(bin)/python -m pytest -q tests/cli/test_damages.py tests/cli/test_hostile_servers.py
	@$(bin)/python -m tests.fuzz.kills $(kills)

test-latest: ## `make test` with the newest versions that setup.py allows, in an environment of its own (build/latest)
	@rm -rf build/latest
	@$(MAKE) --no-print-directory venv=build/latest lock= test

upgrade: setup ## renew requirements.lock, install it and run the tests
	@$(bin)/uv pip compile setup.py --quiet --upgrade --universal --python-version 3.11 --extra dev --generate-hashes \
		--custom-compile-command "make upgrade" --output-file $(lock)
	@$(MAKE) --no-print-directory test

names: $(venv)/python.stamp ## write what C, SQL, Python and docs/format.md need of what schemas/ declares, and types of SQL's rows
	@$(bin)/python schemas/generate.py
	@$(MAKE) --no-print-directory setup
	@$(bin)/python -m querytape.analyze.make_rows

lint: setup ## ruff, mypy --strict, clang-format; zizmor, actionlint, shellcheck, hadolint for what others run; vale for prose
	@$(bin)/ruff check .
	@$(bin)/ruff format --check .
	@$(bin)/clang-format --dry-run --Werror $(c_files)
	@$(bin)/python schemas/generate.py --check
	@$(bin)/python -m querytape.analyze.make_rows check
	@mkdir -p $(venv)/types && ln -sfn ../.. $(venv)/types/querytape
	@cd $(venv)/types && ../../$(bin)/mypy --config-file querytape/pyproject.toml -p querytape
	@scripts/lint-ci
	@scripts/lint-prose

texts: setup ## write each text that a user reads into build/texts.md
	@$(bin)/python docs/make_texts.py

format: setup ## let ruff lay out the Python files, clang-format the C files
	@$(bin)/ruff format .
	@$(bin)/clang-format -i $(c_files)

fuzz: setup ## throw broken input at each parser for a minute
	@scripts/fuzz

mutants: setup ## put faults into a copy of the code for an hour (minutes=60, room=gates): which ones no test notices
	@$(bin)/python -m tests.mutants.run --minutes $(minutes) $(if $(room),--room "$(room)") --out build/mutants.json

bench: setup ## measure against the peers; only=parser,replay,... picks
	@$(bin)/python -m querytape.bench.run --rounds $(rounds) $(if $(only),--only $(only))

numbers: setup ## write docs/numbers.md and its chart from what make bench kept
	@$(bin)/python -m querytape.bench.numbers

soak: setup ## replay for an hour (minutes=60) and see that memory stays flat
	@$(bin)/python -m querytape.bench.soak --minutes $(minutes)

soak-follow: setup ## follow a log of 5,000 statements a second for an hour (minutes=60) and see that nothing is lost
	@$(bin)/python -m querytape.bench.soak_follow --minutes $(minutes)

volume: setup ## replay a tape of 50 million events (events=50000000) and see that memory stays bounded
	@$(bin)/python -m querytape.bench.volume --events $(events)

verdicts: setup ## simulate pairs of runs (pairs=200): what verdicts find, what they call falsely
	@$(bin)/python -m querytape.bench.verdicts --pairs $(pairs)

neighbours: setup ## compare equal real servers (comparisons=20, rounds=3) beside a load that changes: what is called falsely
	@$(bin)/python -m querytape.bench.neighbours --comparisons $(comparisons) --rounds $(rounds)

docs: setup ## write docs/cli.md and the man pages from the commands' help, and the import table of docs/architecture.md
	@$(bin)/python docs/make_cli.py
	@$(bin)/python docs/make_architecture.py
	@$(bin)/python docs/make_metrics.py
	@$(bin)/python docs/make_man.py

site: setup ## build the pages of docs/ as a site, into build/site
	@$(bin)/python -m sphinx --fail-on-warning --keep-going --nitpicky --fresh-env --quiet --builder html docs build/site
	@echo "build/site/index.html"

wheel: setup ## make the wheel that needs no compiler and no libraries, into dist/, and audit it
	@scripts/setup-system wheel
	@PATH=$(CURDIR)/$(bin):$$PATH $(bin)/python scripts/make_wheel.py

test-wheel: setup ## install that wheel in a bare Debian 13, log in to each server with it, remove it (as root)
	@scripts/setup-system wheel
	@$(bin)/python -m querytape.scripts.test_wheel

test-image: setup ## build the Containerfile's images on that root, run commands and the demo as their user (as root, buildah)
	@scripts/setup-system image
	@$(bin)/python -m querytape.scripts.test_image

release-check: setup ## say what is missing for a release: tag, version, change log, clean tree, archives in dist/ and their audits
	@$(bin)/python scripts/release_check.py

samples: setup servers ## record small logs and packets of each server here into tests/samples/ (as root)
	@$(bin)/python -m querytape.scripts.make_samples

clean: ## remove what was built; fetched servers stay
	rm -rf $(venv) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache native/*.so native/_querytape.c native/build-*
	find . -name __pycache__ -not -path './.servers/*' -prune -exec rm -rf {} +
