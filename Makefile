# Lifeboat: every command that CI and people use.
# `make` alone prints the targets.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

ifndef VERSION
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
endif
# Whoever names a tag does not have a say in what the shell runs: neither make nor the shell
# look for more in it.
quoted = '$(subst ','\'',$(1))'
LDFLAGS = $(call quoted,-s -w -X github.com/lifeboat-failover/lifeboat/internal/telemetry.Version=$(value VERSION))
TIMES := .test/times
STAGE = tests/stage.sh $(TIMES)
# Everything of this module but the end-to-end stories, which need the lab.
UNIT = $$(go list ./... | grep -v /tests/e2e)

# Modules of their own beside the lab's, so that their needs are not the product's.
MODULES = deploy/image tests/compare tests/deploy tests/monitoring

# The same flags everywhere, or everything would be compiled once for each set.
export GOFLAGS := -trimpath $(GOFLAGS)

include lab.mk

##@ Try it
.PHONY: demo screenshots
demo: lab-bin build $(if $(KARMADA_SRC),karmada-bin) ## Fail and recover clusters in the lab (KEEP=1 stays up, SABOTAGE=drop-task|lose-binding must fail, KARMADA_SRC=<checkout> runs a real Karmada)
	@bin/demo $(if $(KARMADA_SRC),--karmada=$(KARMADA_BIN)) $(if $(SABOTAGE),--sabotage=$(SABOTAGE)) $(if $(KEEP),--keep)

screenshots: lab-bin build ## Take the pictures in docs/images anew, from a demo that was kept (needs node and chromium)
	@tests/screenshots/take.sh

##@ Build
.PHONY: build
build: toolchain ## Build bin/lifeboat and bin/lifeboat-worker
	@go build -ldflags $(LDFLAGS) -o bin/lifeboat ./controller
	@go build -ldflags $(LDFLAGS) -o bin/lifeboat-worker ./worker

PLATFORMS ?= linux/$(shell go env GOARCH)
.PHONY: image
image: toolchain ## Build bin/lifeboat-image.tar, the container image (OCI archive; PLATFORMS=linux/amd64,linux/arm64)
	@cd deploy/image && go run . -root ../.. -version $(call quoted,$(value VERSION)) -platforms "$(PLATFORMS)" -created "$(or $(SOURCE_DATE_EPOCH),0)" \
		-out ../../bin/lifeboat-image.tar

##@ Test
.PHONY: test test-all test-unit test-compare test-oracle test-image test-deploy test-alerts test-e2e test-seeds
# Memory for time: the collectors of servers and tests took a sixth of the processors.
test: export GOGC ?= 400
test: toolchain ## Run the tests, with the time of each stage (LONG=yes: the long stories, too)
	@mkdir -p .test && rm -f $(TIMES) .test/e2e.log
	@begun=$$(date +%s); status=0; \
	$(STAGE) "build the lab's servers" $(MAKE) lab-bin bin/kubectl || status=1; \
	[ $$status -ne 0 ] || $(STAGE) "build Lifeboat" $(MAKE) build || status=1; \
	[ $$status -ne 0 ] || $(MAKE) --jobs=5 --output-sync=target $(BESIDE) || status=1; \
	echo; cat $(TIMES); tests/stage.sh --sum $(TIMES) $$begun; \
	if [ -f .test/e2e.log ] && [ $$status -eq 0 ]; then grep '^stories: ' .test/e2e.log || true; fi; \
	[ $$status -eq 0 ] && echo "all tests passed; make test-all also plays the long stories and $(SEEDS) seeds of the simulator, and asks $(QUESTIONS) questions of the pre-check" || echo "FAILED"; \
	exit $$status

# Image, manifests, lab and stories wait most of the time; what is beside them computes. A story begins when the machine
# has room for it, and + shows it at once.
BESIDE := stage-deploy stage-image stage-lab stage-unit stage-compare stage-alerts stage-stories
.PHONY: $(BESIDE)
stage-deploy:
	@$(STAGE) "manifests" $(MAKE) test-deploy
stage-image:
	@$(STAGE) "image" $(MAKE) test-image
stage-unit:
	@$(STAGE) "unit and workflow tests" $(MAKE) test-unit
stage-stories: | stage-unit
	+@$(STAGE) "end-to-end stories" tests/stories.sh
stage-compare: | stage-unit
	@$(STAGE) "pre-check against scheduler" $(MAKE) test-compare
stage-alerts: | stage-compare
	@$(STAGE) "alerts and dashboard" $(MAKE) test-alerts
stage-lab:
	@$(STAGE) "tests of the lab" $(MAKE) lab-test

test-unit: toolchain ## Run the unit and workflow tests, and print what pre-check, queue, page and decoder take
	@go test -timeout 30m $(UNIT)
	@go test -run '^$$' -bench . -benchmem -benchtime 10x ./internal/placement ./internal/queue ./internal/view ./k8sadapter | grep -e /op -e FAIL

test-compare: toolchain ## Hold the pre-check against the lab's scheduler (N=200000 asks more questions)
	@mkdir -p .test
	@cd tests/compare && go test -timeout 30m -v . $(if $(filter-out file default undefined,$(origin N)),-questions=$(N)) >../../.test/compare.log \
		|| { tail -60 ../../.test/compare.log; exit 1; }
	@grep -A60 'questions, seeds' .test/compare.log | sed '/^--- /,$$d'

# What make test-all asks more: the first seeds of the same lists.
SEEDS ?= 1000
QUESTIONS ?= 200000
# The sample in testdata is what `make test` asks.
ORACLE ?= ../shared/karmada/oracle
test-all: export LONG = yes
test-all: test ## Run the tests and the long stories, with more seeds (SEEDS=1000, QUESTIONS=200000), and ask all 28,000 questions that a real scheduler answered (ORACLE=<folder>)
	@$(STAGE) "$(SEEDS) seeds of the simulator" $(MAKE) test-seeds
	@$(STAGE) "$(QUESTIONS) questions" $(MAKE) test-compare N=$(QUESTIONS)
	@if [ -d "$(ORACLE)" ]; then $(STAGE) "answers of a real scheduler" $(MAKE) test-oracle; \
	else echo "$(ORACLE) is not there: only the sample of the real scheduler's answers was asked"; fi
	@echo; cat $(TIMES)

test-seeds: toolchain ## Play the first SEEDS=1000 listed seeds of the simulator, and hold its floors
	@nice go test ./tests/sim -count=1 -timeout 0 -v -run TestListedSeeds -seeds $(SEEDS) | grep -v '^=== '

test-oracle: toolchain ## Hold the pre-check and the lab's scheduler against every answer of a real scheduler (ORACLE=<folder>)
	@mkdir -p .test
	@cd tests/compare && nice go test -count=1 -timeout 30m -v -run Oracle . -oracle "$(abspath $(ORACLE))" >../../.test/oracle.log \
		|| { tail -60 ../../.test/oracle.log; exit 1; }
	@grep -A60 'questions of' .test/oracle.log | sed '/^--- /d'

test-image: toolchain ## Build the image twice, and look into it
	@cd deploy/image && go test -count=1 -timeout 30m .

test-deploy: toolchain lab-bin bin/kubectl build ## Render the manifests, apply them to a real kube-apiserver, run what they say, and play the quickstart
	@cd tests/deploy && go test -count=1 -timeout 30m .

# -count=1: what is tested lies outside of the module, where the cache does not look.
test-alerts: toolchain ## Run the alerts' unit tests and the dashboard's queries with Prometheus' own engine
	@cd tests/monitoring && go test -count=1 -timeout 30m ./...

.PHONY: sim
N ?= 200
sim: toolchain ## Play N fresh schedules of failures and faults in virtual time, and judge every write (FROM=<seed>, THEME=<one of tests/sim/themes.go>)
	@nice go test ./tests/sim -count=1 -timeout 0 -v -run TestFreshSeeds -plays $(N) $(if $(FROM),-from $(FROM)) $(if $(THEME),-theme $(THEME)) | grep -v -e '^=== ' -e '^    --- PASS'

.PHONY: fuzz
fuzz: toolchain ## Fuzz every decoder and message, one target after another (FUZZTIME=10m each, TARGET=<part of a name>)
	@FUZZTIME=$(or $(FUZZTIME),10m) tests/fuzz.sh $(TARGET)

.PHONY: crowd
crowd: toolchain ## Fail over a cluster with a hundred thousand bindings in virtual time, and print how long it took
	@LIFEBOAT_CROWD=$(if $(filter-out file default undefined,$(origin N)),$(N),100000) nice go test ./workflows -count=1 -timeout 0 -run TestTwentyThousandBindings

# Timings are told, not asserted. SERVERS=no leaves out what needs the lab, FLAP=24h makes the week shorter.
.PHONY: load load-virtual load-servers
FLAP ?= 168h
load: load-virtual $(if $(filter no,$(SERVERS)),,load-servers) ## Ask what load costs: a storm of events, a week of flapping, and, on real servers, the API server at its maximum and signals beyond the cap

load-virtual: toolchain
	@nice go test ./controller/watch -count=1 -run TenThousandBindingEvents -bench BindingEvents -v | grep -e ' events, ' -e 'ns/op' -e '^FAIL'
	@nice go test ./tests/sim -count=1 -timeout 0 -v -run 'FlappingClusters|SixtyPercent' -flapping 50 -flap-for $(FLAP) | grep -e '^ *load_test' -e '^FAIL' -e '^ok'

load-servers: toolchain lab-bin build
	@mkdir -p .test
	@go test -count=1 -timeout 30m -v ./tests/e2e -run 'TestLoadOnTheAPIServer|TestSignalsBeyondTheCap' -load >.test/load.log 2>&1 && status=0 || status=$$?; \
	grep '^stories: ' .test/load.log || tail -40 .test/load.log; exit $$status

.PHONY: pace
pace: toolchain lab-bin build ## Hold 200 evictions to the pace on real servers, half an hour for all rates, failovers and disturbances (ROW=rate=5)
	@mkdir -p .test
	@go test -count=1 -timeout 90m -v ./tests/e2e -run 'TestPaceLaw/$(ROW)' -load >.test/pace.log 2>&1 && status=0 || status=$$?; \
	grep -a -e '^stories: pace: ' -e '^ *--- FAIL' .test/pace.log || tail -40 .test/pace.log; exit $$status

.PHONY: bench
bench: $(if $(filter postgres,$(TEMPORAL)),postgres) toolchain lab-bin build ## Measure a failover of N="300 3000" bindings on real servers, at unlimited pace, RUNS=6 times, SCHEDULER="instant slow", WORKERS="1 2 4", among FLEET=100000 bindings and CLUSTERS=500, of which FAILOVERS=2 fail, or how soon the rest is abandoned at a recovery after RECOVERY=300 evictions; writes .test/bench.json, .table, .svg and .txt, BASELINE=<copy of an earlier bench.txt> compares (TEMPORAL=postgres, PROFILE=mutex or block)
	@case "$(BASELINE)" in "") ;; .test/bench.txt | *.json) echo "BASELINE=$(BASELINE): give a copy of the bench.txt of an earlier make bench" >&2; exit 2;; *) [ -f "$(BASELINE)" ] || { echo "BASELINE: there is no file $(BASELINE)" >&2; exit 2; };; esac
	@mkdir -p .test && rm -f .test/bench.json
	@for scheduler in $(or $(SCHEDULER),instant); do for workers in $(or $(WORKERS),1); do \
		for n in $(if $(filter-out file default undefined,$(origin N)),$(N),300); do for run in $$(seq $(or $(RUNS),1)); do \
		go test -count=1 -timeout 0 -v ./tests/e2e -run 'TestBench$$' -measure $$n -measure-scheduler $$scheduler -measure-workers $$workers -measure-profile $(or $(PROFILE),profile) \
		-measure-fleet $(or $(FLEET),0) -measure-clusters $(or $(CLUSTERS),4) -measure-failovers $(or $(FAILOVERS),1) -measure-recovery $(or $(RECOVERY),0) \
		-measure-to "$(CURDIR)/.test/bench" $(if $(TEMPORAL),-temporal-database $(TEMPORAL)) >.test/bench.log 2>&1 && status=0 || status=$$?; \
		grep -a '^stories: bench: ' .test/bench.log || true; [ $$status = 0 ] || { tail -40 .test/bench.log; exit $$status; }; done; done; done; done
	@cat .test/bench.table
	@$(if $(BASELINE),go run golang.org/x/perf/cmd/benchstat@$(BENCHSTAT) $(BASELINE) .test/bench.txt)

BENCHSTAT := v0.0.0-20260908200009-22c9c6c9d4da

.PHONY: mutants
mutants: toolchain ## Take each guard out of a copy of HEAD; its named test must fail, and the simulator must find it where it can (ONLY=04-chunk takes some; SIM=no asks the tests alone)
	@go run ./tests/mutants $(if $(filter no,$(SIM)),-nosim) $(ONLY)

.PHONY: preflight
preflight: toolchain build ## Try everything short of writing on a real Karmada (KUBECONFIG=..., ARGS="-o json")
	@bin/lifeboat preflight --full $(ARGS)

test-e2e: toolchain lab-bin bin/kubectl build ## Run the end-to-end stories on real servers
	@LONG=yes tests/stories.sh

.PHONY: test-karmada
test-karmada: karmada-bin bin/kubectl build ## Run the stories on a real Karmada, built from KARMADA_SRC=<a checkout of karmada-io/karmada> (STORY=<part of a name>)
	@mkdir -p .test
	@go test -count=1 -timeout 120m -v ./tests/e2e -run 'TestStories/$(STORY)' -karmada "$(CURDIR)/$(KARMADA_BIN)" >.test/karmada.log 2>&1 && status=0 || status=$$?; \
	grep -a -e '^stories: ' -e '^ *--- FAIL' .test/karmada.log || tail -40 .test/karmada.log; exit $$status

# Temporal's restart is a cell of crash_sample, list queries are in documents, and a Temporal without
# its database is set up anew over its API.
POSTGRES_STORIES := full_evacuation|worker_killed_between_write_and_acknowledgement|worker_killed_in_the_window|crash_sample|temporal_loses_its_database|documents
.PHONY: test-postgres
test-postgres: postgres toolchain lab-bin bin/kubectl build ## Run the stories of crashes, restarts and list queries with Temporal on PostgreSQL
	@mkdir -p .test
	@go test -count=1 -timeout 60m -v ./tests/e2e -run 'TestStories/^($(POSTGRES_STORIES))$$' -labs 2 -temporal-database postgres >.test/postgres.log 2>&1 && status=0 || status=$$?; \
	grep -a -e '^stories: ' -e '^ *--- FAIL' .test/postgres.log | grep -v 'NOT TOLD' || tail -40 .test/postgres.log; exit $$status

# What was played at a commit is not played again; `rm -r .test/chaos` forgets.
CHAOS = .test/chaos/$(shell git rev-parse --short HEAD)$(shell git diff --quiet HEAD -- '*.go' || echo -changed)
.PHONY: chaos
LANES ?= 6
FOR ?= 0s
SHARD ?= 1/1
chaos: toolchain lab-bin build ## Kill everything before and after every effect, an hour long (LANES=6, FOR=20m, SHARD=1/8, STORY=, VICTIM=, POINT=)
	@mkdir -p .test
	@go test -count=1 -timeout 0 -v ./tests/e2e -run TestCrashMatrix -chaos "$(CURDIR)/$(CHAOS)" -lanes $(LANES) -for $(FOR) -shard $(SHARD) \
		-chaos-story "$(STORY)" -victim "$(VICTIM)" -point "$(POINT)" >.test/chaos.log 2>&1 && status=0 || status=$$?; \
	grep '^stories: ' .test/chaos.log || tail -40 .test/chaos.log; exit $$status

.PHONY: outages
LASTING ?= 12s
outages: toolchain lab-bin build ## Have API server and Temporal away in every way, in the middle of a migration (ROW=<part of a name>, LASTING=2m)
	@mkdir -p .test
	@go test -count=1 -timeout 0 -v ./tests/e2e -run 'TestOutages/$(ROW)' -lasting "$(LASTING)" -chaos "$(CURDIR)/$(CHAOS)" >.test/outages.log 2>&1 && status=0 || status=$$?; \
	grep -e '^stories: ' -e '^ *--- FAIL' .test/outages.log || tail -40 .test/outages.log; exit $$status

.PHONY: upgrade
upgrade: toolchain lab-bin build ## Replay the newest tag's histories, and replace its programs in mid-failover (UPGRADE_FROM=<commit> takes another version)
	@UPGRADE_FROM="$(UPGRADE_FROM)" tests/upgrade.sh

.PHONY: record
record: toolchain lab-bin build ## Record the histories that tests/replay replays anew
	@tests/replay/record.sh

##@ Check
.PHONY: lint
lint: toolchain bin/golangci-lint bin/workflowcheck ## Run golangci-lint, workflowcheck and the checks for retired words, imports and shape; go vet and go mod tidy -diff for every module
	@nice bin/golangci-lint config verify
	@nice bin/golangci-lint run --allow-serial-runners ./...
	@nice bin/workflowcheck -test=false -config workflowcheck.config.yaml $$(go list ./... | grep -v /tests/)
	@$(MAKE) lab-vet
	@for module in $(MODULES); do (cd $$module && go vet ./...); done
	@for module in $$(git ls-files go.mod '*/go.mod' | xargs -n1 dirname); do (cd $$module && go mod tidy -diff) || exit 1; done
	@unformatted=$$(gofmt -l tests/lab $(MODULES)); [ -z "$$unformatted" ] || { echo "gofmt: $$unformatted"; exit 1; }
	@go test ./tests/documents -run Retired
	@go test ./tests/imports
	@echo "lint: clean"

# The tools live in a module of their own, as the linters do.
SUPPLY_BIN := bin/go-licenses bin/cyclonedx-gomod bin/govulncheck
SUPPLY = LDFLAGS=$(LDFLAGS) tests/supply/supply.sh
.PHONY: supply licenses sbom vulncheck reproducible
supply: licenses sbom vulncheck reproducible ## Look at the supply chain: licences, SBOM, known vulnerabilities, two builds

licenses: toolchain $(SUPPLY_BIN) ## List the licences of all that the binaries link, in docs/licenses.csv; refuse unusual ones
	@$(SUPPLY) licenses

sbom: build $(SUPPLY_BIN) ## Write the bill of materials of each binary, bin/*.cdx.json (CycloneDX)
	@$(SUPPLY) sbom

vulncheck: toolchain $(SUPPLY_BIN) ## Run govulncheck, where its database can be reached
	@$(SUPPLY) vulncheck

reproducible: toolchain ## Build HEAD twice, in two folders and with two caches (some minutes): the binaries must be equal
	@$(SUPPLY) reproducible

$(SUPPLY_BIN) &: tests/supply/go.mod tests/supply/go.sum
	@echo "supply: building go-licenses, cyclonedx-gomod and govulncheck (about a minute, once)"
	@mkdir -p bin && cd tests/supply && nice go build -ldflags "-s -w" -o ../../bin/ tool
	@touch $(SUPPLY_BIN)

# The linters live in a module of their own: none of their needs are the product's.
bin/golangci-lint: tests/tools/go.mod tests/tools/go.sum
	@echo "lint: building golangci-lint (about a minute, once)"
	@cd tests/tools && nice go build -ldflags "-s -w" -o ../../bin/ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

bin/workflowcheck: tests/tools/go.mod tests/tools/go.sum
	@cd tests/tools && go build -ldflags "-s -w" -o ../../bin/ go.temporal.io/sdk/contrib/tools/workflowcheck
	@touch $@

.PHONY: toolchain
toolchain:
	@tests/toolchain.sh

##@ Tidy up
.PHONY: clean
clean: lab-clean ## Remove everything that was built or run
	@rm -rf bin .lab .demo .test coverage.out

.PHONY: help
help:
	@awk 'BEGIN {FS = ":.*## "} \
		FNR == 1 && NR > 1 {printf "\nThe lab\n"} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z][a-z0-9-]*:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@tests/toolchain.sh || true
