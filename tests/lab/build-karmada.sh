#!/usr/bin/env bash
# Builds a real Karmada and what its members run, for `lab up --karmada`.
# Usage: build-karmada.sh <checkout or git directory of karmada-io/karmada> <output folder>
# Eight minutes on two cores the first time, then nothing for the same commit.
set -euo pipefail

source=$(cd "$1" && pwd)
lab=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
output=$(cd "$2" && pwd)

commit=$(git -C "$source" log -1 --format='%H %cs')
if [ "$(cat "$output/commit" 2>/dev/null)" = "$commit" ]; then
	echo "lab: Karmada $commit is built"
	exit 0
fi
echo "lab: building Karmada $commit"

# A git directory has no work tree, and a stored copy may lack its largest files, pictures under docs/.
tree=$source
if [ ! -d "$source/cmd" ]; then
	tree=$output/source
	[ -d "$tree/.git" ] || git clone -q --no-checkout "$source" "$tree"
	git -C "$tree" sparse-checkout set --no-cone '/*' '!/docs'
	git -C "$tree" checkout -q -f "${commit%% *}" || true
fi
if [ ! -d "$tree/vendor" ] || [ ! -d "$tree/cmd" ]; then
	echo "lab: $source is no checkout of karmada-io/karmada: it lacks cmd/ or vendor/" >&2
	exit 2
fi

build() { # folder, mode, output name, package
	"$lab/build.sh" "$1" "$output/$3" "$4" "-s -w" "-mod=$2"
}
build "$lab/kwok" readonly kwok sigs.k8s.io/kwok/cmd/kwok
for name in kube-controller-manager kube-scheduler kubectl; do
	build "$lab/kubernetes" readonly $name k8s.io/kubernetes/cmd/$name
done
for name in aggregated-apiserver controller-manager scheduler webhook; do
	build "$tree" vendor karmada-$name ./cmd/$name
done
build "$tree" vendor karmadactl ./cmd/karmadactl

manifests=$output/manifests
rm -rf "$manifests"
mkdir -p "$manifests/kwok"
cp -r "$tree/charts/karmada/_crds" "$manifests/crds"
cp "$tree/artifacts/deploy/webhook-configuration.yaml" "$manifests/"
stages=$(cd "$lab/kwok" && go list -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage
for stage in node/fast/node-initialize node/heartbeat-with-lease/node-heartbeat-with-lease pod/fast/pod-ready pod/fast/pod-complete pod/fast/pod-delete; do
	cp "$stages/$stage.yaml" "$manifests/kwok/"
done
chmod -R u+w "$manifests"
echo "$commit" >"$output/commit"
echo "lab: Karmada is in $output"
