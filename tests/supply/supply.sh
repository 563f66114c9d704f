#!/usr/bin/env bash
# The supply chain of what is shipped: bin/lifeboat and bin/lifeboat-worker.
#
# Usage: supply.sh licenses | sbom | vulncheck | reproducible
# LDFLAGS are those of the build; called by make.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly mains=(./controller ./worker) binaries=(lifeboat lifeboat-worker)
readonly allowed=Apache-2.0,BSD-2-Clause,BSD-3-Clause,ISC,MIT,MPL-2.0
# The module carries no licence file: what covers it must be asked of its authors, who
# publish their other module that we link under MIT.
readonly unmarked=github.com/nexus-rpc/nexus-proto-annotations

licenses() {
	local ours list=.test/licenses.csv
	ours=$(go list -m)
	# It takes what lies below GOROOT for Go itself, and a trimmed binary knows of none: then
	# everything would be Go's, nothing listed and nothing refused.
	GOROOT=$(go env GOROOT)
	export GOROOT
	bin/go-licenses check --allowed_licenses="$allowed" --ignore "$ours" --ignore "$unmarked" "${mains[@]}" 2>.test/licenses.log ||
		{ tail -5 .test/licenses.log && return 1; }
	{
		echo "# What the binaries link, with the licence of each part: made by make licenses."
		bin/go-licenses report --ignore "$ours" --ignore "$unmarked" --template tests/supply/licenses.tmpl "${mains[@]}" 2>>.test/licenses.log
		echo "$unmarked,none in the module"
	} >"$list"
	mv "$list" docs/licenses.csv
	go test -count=1 ./tests/imports -run TestEveryModuleOfTheBinariesIsListedWithItsLicence >>.test/licenses.log 2>&1 ||
		{ echo "licenses: the list is not whole, see .test/licenses.log" && return 1; }
	echo "licenses: $(grep -vc '^#' docs/licenses.csv) parts in docs/licenses.csv, each but $unmarked under one of $allowed"
}

sbom() {
	local name
	for name in "${binaries[@]}"; do
		bin/cyclonedx-gomod bin -json -noserial -notimestamp -output "bin/$name.cdx.json" "bin/$name" 2>.test/sbom.log ||
			{ cat .test/sbom.log && return 1; }
		echo "sbom: bin/$name.cdx.json lists $(grep -c '"purl": "pkg:golang/' "bin/$name.cdx.json") modules (CycloneDX)"
	done
}

# Only a database that cannot be reached is excused.
vulncheck() {
	local out status=0
	out=$(bin/govulncheck "${mains[@]}" 2>&1) || status=$?
	if [ $status -ne 0 ] && grep -q 'fetching vulnerabilities: ' <<<"$out"; then
		echo "vulncheck: SKIPPED, the database of vulnerabilities cannot be reached: ${out##*fetching vulnerabilities: }"
		return 0
	fi
	echo "$out"
	return $status
}

# The second build stands in another folder, and no cache knows anything of the first.
reproducible() {
	local folder commit
	folder=$(mktemp -d)
	# shellcheck disable=SC2064 # now, while it is known
	trap "chmod -R u+w '$folder' && rm -rf '$folder'" EXIT
	[ -z "$(git status --porcelain)" ] || echo "reproducible: what is not committed is left out"
	git clone --quiet . "$folder/here"
	git clone --quiet "$folder/here" "$folder/else where" # of here, whatever is committed meanwhile
	commit=$(git -C "$folder/else where" rev-parse --short HEAD)
	(cd "$folder/here" && go build -ldflags "$LDFLAGS" -o "$folder/first/" "${mains[@]}")
	(cd "$folder/else where" && GOCACHE="$folder/cache" nice go build -ldflags "$LDFLAGS" -o "$folder/second/" "${mains[@]}")
	diff <(cd "$folder/first" && sha256sum -- *) <(cd "$folder/second" && sha256sum -- *) ||
		{ echo "reproducible: two builds of $commit differ" && return 1; }
	echo "reproducible: two builds of $commit, in two folders and with two caches, are equal:"
	(cd "$folder/first" && sha256sum -- *)
}

mkdir -p .test
case ${1:-} in
licenses | sbom | vulncheck | reproducible) "$1" ;;
*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
