#!/bin/bash
# Runs every fuzz target of this module, one after another, and prints a line for each:
# how long, how many executions, and what was found. A crasher is written by Go beside its
# target, in testdata/fuzz/<target>; commit it with the cure.
#
#   tests/fuzz.sh [target]     FUZZTIME=10m (or 100000x), PARALLEL=<number of processors>
#
# The target is a part of a name: Messages takes all three of them. What is interesting is made
# smaller for two seconds only: Go would take a minute for each, all of the time of a slow target.
set -u
cd "$(dirname "$0")/.."
mkdir -p .test
only=${1:-}
found=0 ran=0
while IFS=: read -r file _ line; do
	name=${line#func } name=${name%%(*}
	[[ $name == *"$only"* ]] || continue
	ran=$((ran + 1))
	log=.test/fuzz.$name.log
	begun=$SECONDS
	if nice go test "./$(dirname "$file")" -run '^$' -fuzz "^$name\$" -fuzztime "${FUZZTIME:-10m}" -fuzzminimizetime 2s \
		${PARALLEL:+-parallel "$PARALLEL"} >"$log" 2>&1; then
		verdict="nothing found"
	else
		verdict="FAILED, see $log" found=$((found + 1))
	fi
	execs=$(grep -ao 'execs: [0-9]*' "$log" | tail -1 | cut -d' ' -f2)
	printf '%-22s %6ss %12s execs  %s\n' "$name" "$((SECONDS - begun))" "${execs:-0}" "$verdict"
done < <(git grep -n '^func Fuzz' -- '*_test.go' ':!tests/lab')
[ "$ran" -gt 0 ] || { echo "no fuzz target has $only in its name"; exit 2; }
[ "$found" -eq 0 ]
