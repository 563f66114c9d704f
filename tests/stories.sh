#!/bin/sh
# Runs the end-to-end stories, afresh every time, and holds what ran against the
# list in tests/e2e/stories.txt: a story that is missing, skipped or not listed
# fails the run. LONG=yes plays those as well that are marked long.
set -u

cd "$(dirname "$0")/.."
log=.test/e2e.log
list=tests/e2e/stories.txt
mkdir -p .test

status=0
long=true
[ "${LONG:-no}" = no ] && long=false
{ go test -count=1 -timeout 60m -v ./tests/e2e/... -long=$long 2>&1 || echo "stories: go test failed"; } | tee "$log"
grep -q '^stories: go test failed$' "$log" && status=1

ended() { # <PASS|SKIP|FAIL>: the stories that ended so
	sed -n "s|^ *--- $1: TestStories/\\([^/ ]*\\) (.*|\\1|p" "$log" | sort -u
}
# why <story>: the first lines of each assertion of it that failed.
why() {
	awk -v story="TestStories/$1" '
		/^ *(=== |---|stories:)/ { mine = ($1 == "===" && $3 == story); said = 0 }
		!mine { next }
		/Error Trace:/ { said = 1 }
		said && said++ < 12 { print "    " substr($0, 1, 300) }
	' "$log" | head -40
}
wanted=$(awk -v long=$long 'NF && !/^#/ && (long == "true" || $2 != "long") { print $1 }' "$list" | sort)
passed=$(ended PASS)
for story in $wanted; do
	echo "$passed" | grep -qx "$story" && continue
	status=1
	how=missing
	ended SKIP | grep -qx "$story" && how=skipped
	ended FAIL | grep -qx "$story" && how=failed
	echo "stories: $story: $how"
	why "$story"
done
for story in $passed; do
	if ! echo "$wanted" | grep -qx "$story"; then
		status=1
		echo "stories: $story ran but is not in $list"
	fi
done
echo "stories: $(echo "$passed" | grep -c .) passed of $(echo "$wanted" | grep -c .)"
exit $status
