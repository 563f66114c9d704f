# The lab's binaries: real etcd, kube-apiserver and Temporal, and the lab itself.
# Each is a file that depends on its own module only, so nothing is built twice.

LAB_BIN := bin/etcd bin/kube-apiserver bin/temporal-dev bin/lab bin/demo

LAB_KUBERNETES := tests/lab/kubernetes
LAB_TEMPORAL := tests/lab/temporal
# The version that the API server reports; the one its go.mod pins.
LAB_KUBERNETES_VERSION = $(shell sed -n 's|^[[:space:]]*k8s.io/kubernetes \(v[^ ]*\).*|\1|p' $(LAB_KUBERNETES)/go.mod)
LAB_SOURCES = $(shell find tests/lab -type f -not -path '$(LAB_KUBERNETES)/*' -not -path '$(LAB_TEMPORAL)/*' \
	-not -name '*_test.go' -not -path '*/testdata/*' -not -name '*.md')

.PHONY: lab-bin lab-vet lab-test lab-clean

lab-bin: $(LAB_BIN) ## Build the lab's servers (about ten minutes the first time)

# One heavy build at a time, also under make -j: each of them fills the machine.
bin/kube-apiserver: | bin/etcd
bin/temporal-dev: | bin/kube-apiserver
bin/lab: | bin/temporal-dev
bin/demo: | bin/lab

bin/etcd: $(LAB_KUBERNETES)/go.mod $(LAB_KUBERNETES)/go.sum
	@tests/lab/build.sh $(LAB_KUBERNETES) $@ go.etcd.io/etcd/server/v3

bin/kube-apiserver: $(LAB_KUBERNETES)/go.mod $(LAB_KUBERNETES)/go.sum
	@tests/lab/build.sh $(LAB_KUBERNETES) $@ k8s.io/kubernetes/cmd/kube-apiserver \
		"-s -w -X k8s.io/component-base/version.gitVersion=$(LAB_KUBERNETES_VERSION)"

# The demo does without it.
bin/kubectl: $(LAB_KUBERNETES)/go.mod $(LAB_KUBERNETES)/go.sum | bin/kube-apiserver
	@tests/lab/build.sh $(LAB_KUBERNETES) $@ k8s.io/kubernetes/cmd/kubectl \
		"-s -w -X k8s.io/component-base/version.gitVersion=$(LAB_KUBERNETES_VERSION)"

bin/temporal-dev: $(wildcard $(LAB_TEMPORAL)/*.go) $(LAB_TEMPORAL)/go.mod $(LAB_TEMPORAL)/go.sum
	@tests/lab/build.sh $(LAB_TEMPORAL) $@ .

bin/lab: $(LAB_SOURCES)
	@tests/lab/build.sh tests/lab $@ ./cmd/lab

bin/demo: $(LAB_SOURCES)
	@tests/lab/build.sh tests/lab $@ ./cmd/demo

.PHONY: postgres
postgres:
	@command -v initdb /usr/lib/postgresql/*/bin/initdb >/dev/null || { echo "cannot find PostgreSQL on this machine (run \`apt-get install postgresql\`)" >&2; exit 2; }

# A real Karmada, which only some targets need.
KARMADA_BIN := bin/karmada
.PHONY: karmada-src karmada-bin
karmada-src:
	@[ -n "$(KARMADA_SRC)" ] || { echo "KARMADA_SRC is not set: give a checkout of https://github.com/karmada-io/karmada, KARMADA_SRC=/path/to/karmada" >&2; exit 2; }
	@[ -d "$(KARMADA_SRC)" ] || { echo "KARMADA_SRC: there is no folder $(KARMADA_SRC)" >&2; exit 2; }

karmada-bin: karmada-src lab-bin ## Build a real Karmada from KARMADA_SRC=<checkout> (about eight minutes the first time)
	@tests/lab/build-karmada.sh "$(KARMADA_SRC)" $(KARMADA_BIN)

# -trimpath as in the builds: with other flags the heavy modules would be
# compiled a second time.
lab-vet: ## Vet the lab
	@cd tests/lab && go vet -trimpath ./...
	@cd $(LAB_TEMPORAL) && go vet -trimpath ./...

lab-test: bin/etcd bin/kube-apiserver bin/temporal-dev ## Test the lab itself, on real servers
	@cd tests/lab && go test -trimpath -count=1 -p 1 -timeout 30m ./...

lab-clean: ## Stop a lab left running in ./.lab and remove the lab's binaries
	@if [ -x bin/lab ] && [ -d .lab ]; then bin/lab down; fi
	@rm -f $(LAB_BIN) bin/*.build.log
