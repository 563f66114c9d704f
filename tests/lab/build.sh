#!/bin/sh
# Builds one Go binary and keeps saying what is going on, because a cold build
# of the heavy servers takes minutes.
# Usage: build.sh <module folder> <output file> <package> [linker flags] [go build flag]
set -eu

module=$1
output=$2
package=$3
ldflags=${4:--s -w}
mode=${5:--mod=readonly}

name=$(basename "$output")
log="$output.build.log"
mkdir -p "$(dirname "$output")"
output=$(cd "$(dirname "$output")" && pwd)/$name
log="$output.build.log"

started=$(date +%s)
elapsed() {
	seconds=$(($(date +%s) - started))
	echo "$((seconds / 60))m$(printf %02d $((seconds % 60)))s"
}

echo "lab: building $name"
# -buildvcs=false: a commit must not make a server of ours look out of date.
(cd "$module" && exec go build -v "$mode" -buildvcs=false -trimpath -ldflags "$ldflags" -o "$output" "$package") >"$log" 2>&1 &
build=$!
trap 'kill $build 2>/dev/null || true; exit 130' INT TERM

ticks=0
while kill -0 $build 2>/dev/null; do
	sleep 1
	ticks=$((ticks + 1))
	if [ $((ticks % 20)) -eq 0 ]; then
		packages=$(grep -vc '^go: ' "$log" || true)
		echo "lab: building $name: $packages packages compiled, $(elapsed) so far, now: $(tail -n 1 "$log")"
	fi
done

if ! wait $build; then
	echo "lab: building $name failed after $(elapsed):" >&2
	tail -n 40 "$log" >&2
	exit 1
fi
# An unchanged binary keeps its time stamp, and make would come back for it.
touch "$output"
rm -f "$log"
echo "lab: built $name in $(elapsed)"
