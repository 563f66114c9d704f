#!/bin/sh
# Runs one stage of a longer run and keeps how long it took.
# Usage: stage.sh <file of times> <name> <command...>
#        stage.sh --sum <file of times> <seconds since the epoch when the run began>
set -eu

line() { # <name> <seconds> <result>
	printf '%-34s %3dm%02ds  %s\n' "$1" $(($2 / 60)) $(($2 % 60)) "$3"
}
if [ "$1" = --sum ]; then
	line "in all" $(($(date +%s) - $3)) "" | tee -a "$2"
	exit
fi
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
line "$name" $seconds $result >>"$times"
echo "==> $name: $result after ${seconds}s"
exit $status
