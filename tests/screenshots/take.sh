#!/usr/bin/env bash
# Takes the pictures in docs/images anew: of the Temporal UI in the midst of a
# failover, of the terminal during a whole demo, and of the dashboard over the run that
# tests/monitoring/record.sh recorded.
# Needs node, npm and Chromium ($CHROMIUM, by default chromium in the PATH).
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
images=$root/docs/images
# A folder of its own: a demo that somebody looks at may run beside this one.
work=$root/.demo/pictures
chromium=${CHROMIUM:-$(type -P chromium || type -P chromium-browser || true)}
# The dashboard is drawn as it stood so many seconds into its run.
DASHBOARD_UNTIL=${DASHBOARD_UNTIL:-205}
demo=

for tool in node npm; do
	type -P "$tool" >/dev/null || { echo "screenshots: $tool is missing (Debian: apt-get install -y nodejs npm)" >&2; exit 1; }
done
[ -n "$chromium" ] || { echo "screenshots: Chromium is missing (Debian: apt-get install -y chromium), or set CHROMIUM" >&2; exit 1; }

stop() {
	if [ -n "$demo" ]; then
		kill "$demo" 2>/dev/null || true
		wait "$demo" 2>/dev/null || true
	fi
}
trap stop EXIT

mkdir -p "$images" "$work"
(cd "$here" && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --no-audit --no-fund --silent)

# await <text> <file> <seconds>: until the demo has printed it.
await() {
	for _ in $(seq "$3"); do
		grep -q "$1" "$2" && return
		kill -0 "$demo" 2>/dev/null || break
		sleep 1
	done
	echo "screenshots: the demo did not come to \"$1\":" >&2
	tail -n 20 "$2" >&2
	return 1
}

echo "screenshots: the dashboard, over the recorded run"
(cd "$root/tests/monitoring" && go run . compute -dashboard ../../deploy/monitoring/dashboard.json -recording testdata/run.gz) >"$work/dashboard.json"
node "$here/dashboard.mjs" "$root/deploy/monitoring/dashboard.json" "$work/dashboard.json" "$images/dashboard.png" "$chromium" "$DASHBOARD_UNTIL"

echo "screenshots: a failover in its midst"
cd "$root"
bin/demo --dir "$work/run" --freeze >"$work/frozen.log" 2>&1 &
demo=$!
await "stays up until" "$work/frozen.log" 180
node "$here/shoot.mjs" "$work/run/lab/lab.json" "$images" "$chromium"
stop
demo=

echo "screenshots: a whole demo, for the terminal"
bin/demo --dir "$work/run" --colour always >"$work/story.ansi"
node "$here/terminal.mjs" "$work/story.ansi" "$images/demo.png" "$chromium"
