#!/bin/sh
# Runs one stage of a longer run and keeps how long it took, for stages.sh.
# Usage: stage.sh <file of times> <name> <command...>
set -eu

times=$1
name=$2
shift 2

echo "==> $name"
started=$(date +%s)
status=0
"$@" || status=$?
seconds=$(($(date +%s) - started))
result=ok
[ $status -eq 0 ] || result=FAILED
mkdir -p "$(dirname "$times")"
printf '%-34s %3dm%02ds  %s\n' "$name" $((seconds / 60)) $((seconds % 60)) "$result" >>"$times"
echo "==> $name: $result after ${seconds}s"
exit $status
