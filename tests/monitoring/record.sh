#!/usr/bin/env bash
# Records what Prometheus would see of a demo in which more goes wrong than usual, to
# tests/monitoring/testdata/run.gz: moves that an operator is asked about, a halt, a
# worker that is silent for a while. Needs `make lab-bin build`; takes five minutes.
set -euo pipefail
export GOFLAGS=-trimpath

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=${BIN:-$root/bin}
work=$root/.demo/recording
rm -rf "$work"
mkdir -p "$work/bin" "$here/testdata"
(cd "$here" && go build -o "$work/monitoring" .)

# The demo's own configuration, and an approval rule besides.
for program in lab lifeboat etcd kube-apiserver temporal-dev; do ln -s "$(readlink -f "$bin/$program")" "$work/bin/$program"; done
cat >"$work/bin/lifeboat-worker" <<EOF
#!/bin/sh
LIFEBOAT_APPROVAL_NAMESPACES=data exec "$(readlink -f "$bin/lifeboat-worker")" "\$@"
EOF
chmod +x "$work/bin/lifeboat-worker"

demo= recorder=
stop() {
	[ -z "$recorder" ] || { kill "$recorder" && wait "$recorder"; } 2>/dev/null || true
	[ -z "$demo" ] || { kill "$demo" && wait "$demo"; } 2>/dev/null || true
}
trap stop EXIT

cd "$root"
"$bin/demo" --bin "$work/bin" --dir "$work/run" --bindings 90 --rate 2 >"$work/demo.log" 2>&1 &
demo=$!

# await <text> <file> <seconds>: until the file has it.
await() {
	for _ in $(seq $((5 * $3))); do
		! grep -qs "$1" "$2" || return 0
		kill -0 "$demo" 2>/dev/null || break
		sleep 0.2
	done
	echo "record: no \"$1\" in $2; the demo said:" >&2
	tail -n 20 "$work/demo.log" >&2
	return 1
}
address() { sed -n 's/.*serving metrics and health.* address=\([^ ]*\).*/\1/p' "$work/run/$1.log" | head -n 1; }
operator() { # lifeboat's own command line
	KUBECONFIG=$(sed -n 's/.*"operator": *"\([^"]*\)".*/\1/p' "$work/run/lab/lab.json" | head -n 1) \
		TEMPORAL_ADDRESS=$(sed -n 's/.*"temporalAddress": *"\([^"]*\)".*/\1/p' "$work/run/lab/lab.json") \
		TEMPORAL_NAMESPACE=$(sed -n 's/.*"temporalNamespace": *"\([^"]*\)".*/\1/p' "$work/run/lab/lab.json") \
		LIFEBOAT_CONFIG=$work/run/lifeboat.yaml "$bin/lifeboat" "$@" || echo "record: lifeboat $* failed" >&2
}

await "serving metrics" "$work/run/worker.log" 120
await "serving metrics" "$work/run/controller.log" 60
"$work/monitoring" record -o "$here/testdata/run.gz" -every 2s "worker=$(address worker)" "controller=$(address controller)" &
recorder=$!

await "1. member1 dies" "$work/demo.log" 120
await "Evacuating" "$work/demo.log" 120
sleep 14
operator pause fleet --yes --reason "the record wants a halt"
sleep 14
operator resume fleet --yes --reason "and its end"
sleep 16
operator approve --cluster member1 --all --yes --reason "the record has waited long enough"
await "2. member2 dies" "$work/demo.log" 240
sleep 10
worker=$(pgrep -P "$demo" -f lifeboat-worker)
kill -STOP "$worker"
sleep 16
kill -CONT "$worker"
# Its second act waits in vain for a binding that nobody approves there: that is a
# part of the record, and its end.
wait "$demo" || true
demo=
kill "$recorder"
wait "$recorder"
recorder=
ls -l "$here/testdata/run.gz"
