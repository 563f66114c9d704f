#!/usr/bin/env bash
# Proves that a newcomer's machine is enough: clones the repository into a new
# folder, with a home, a module cache and a build cache that are empty and a PATH
# with nothing but Go, make, git, gcc and the basic tools, and runs there what the
# README promises.
#
# Usage: fresh.sh [folder]   (default: a temporary one, removed when all went well)
# The module proxy is taken from the caller's Go.
set -euo pipefail

repository=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$(mktemp -d "${TMPDIR:-/tmp}/lifeboat-fresh.XXXXXX")}
mkdir -p "$folder"/{bin,home,modules,cache}
folder=$(cd "$folder" && pwd)

tools=(
	go gofmt make git gcc as ld ar
	sh bash env awk basename cat chmod cp cut date dirname echo expr false find grep head id
	kill ln ls mkdir mktemp mv nice nproc printf ps pwd rm rmdir sed seq sleep sort tail
	tee test touch tr true uname uniq wc xargs
)
for tool in "${tools[@]}"; do
	if path=$(type -P "$tool"); then
		# Go and gcc find what they need beside the real file.
		ln -sf "$(readlink -f "$path")" "$folder/bin/$tool"
	fi
done

clean=(
	env -i "HOME=$folder/home" "PATH=$folder/bin" "USER=newcomer" "TMPDIR=${TMPDIR:-/tmp}"
	"GOMODCACHE=$folder/modules" "GOCACHE=$folder/cache" "GOTOOLCHAIN=local" "GOFLAGS=-modcacherw"
	"GOPROXY=$(go env GOPROXY)" "GOSUMDB=$(go env GOSUMDB)"
)
times=$folder/times

# step <name> <wanted exit code> <command...>: the rest runs in the clone.
step() {
	local name=$1 wanted=$2 started status=0
	shift 2
	echo "==== $name"
	started=$SECONDS
	(cd "$folder/lifeboat" && "${clean[@]}" "$@") || status=$?
	local took=$((SECONDS - started)) result=ok
	[ "$status" -eq "$wanted" ] || result="FAILED: exit code $status, wanted $wanted"
	printf '%-40s %3dm%02ds  %s\n' "$name" $((took / 60)) $((took % 60)) "$result" | tee -a "$times"
	[ "$result" = ok ]
}

"${clean[@]}" git clone --quiet "$repository" "$folder/lifeboat"
echo "fresh: $(git -C "$folder/lifeboat" rev-parse --short HEAD) in $folder"

# sabotage <which>: make itself ends with 2 whatever its recipe ends with, and
# says what that was; the demo must have ended with 1.
sabotage() {
	step "make demo SABOTAGE=$1" 2 make demo "SABOTAGE=$1" 2>&1 | tee "$folder/sabotage.log"
	grep -q 'demo\] Error 1$' "$folder/sabotage.log" || {
		echo "fresh: the demo with SABOTAGE=$1 did not end with 1"
		return 1
	}
}

step "make demo (cold)" 0 make demo
step "make demo (built)" 0 make demo
sabotage drop-task
sabotage lose-binding
step "make test" 0 make test

echo "==== what it took"
cat "$times"
if [ $# -eq 0 ]; then
	rm -rf "$folder"
fi
