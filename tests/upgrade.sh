#!/bin/sh
# Looks at the upgrade from the version before this one: the newest tag, or UPGRADE_FROM.
#
# Its histories must replay here, and its programs are replaced by these in the middle of a failover
# on real servers. The story builds_change_hands_in_mid_failover moves workflows from build to build.
# Whether there is a way back is said, not judged: whether the histories of this version replay there.
set -eu

cd "$(dirname "$0")/.."
here=$(pwd)
if [ -n "${UPGRADE_FROM:-}" ]; then
	from=$UPGRADE_FROM
	why="UPGRADE_FROM"
else
	# What is tagged itself is upgraded from the tag before it.
	base=HEAD
	if git diff --quiet HEAD; then base=HEAD^; fi
	if ! from=$(git describe --tags --abbrev=0 "$base" 2>/dev/null); then
		echo "upgrade: skipped: there is no tag before this version; say UPGRADE_FROM=<commit>"
		exit 0
	fi
	why="the newest tag"
fi
commit=$(git rev-parse --short "$from^{commit}")
echo "upgrade: from $from ($commit, $why)"

mkdir -p .test
old="$here/.test/upgrade-$commit"
tree="$old/tree"
remove() { git worktree remove --force "$tree" 2>/dev/null || true; }
trap remove EXIT
remove
rm -rf "$old"
git worktree add --quiet --detach "$tree" "$commit"

echo "upgrade: the histories of $from, replayed by this version"
go test -count=1 ./tests/replay -args -corpus "$tree/tests/replay/testdata"

rm -rf "$tree/tests/replay/testdata"
cp -r tests/replay/testdata "$tree/tests/replay/testdata"
if (cd "$tree" && go test -count=1 ./tests/replay) >.test/upgrade-back.log 2>&1; then
	echo "upgrade: the histories of this version replay on $from: nothing of what is recorded keeps you from going back"
else
	echo "upgrade: not all histories of this version replay on $from, see .test/upgrade-back.log: what has begun here must end here"
fi

echo "upgrade: the programs of $from, replaced by these in the middle of a failover"
mkdir -p "$old/bin"
(cd "$tree" && go build -o "$old/bin/lifeboat" ./controller && go build -o "$old/bin/lifeboat-worker" ./worker)
status=0
go test -count=1 -timeout 10m -v ./tests/e2e -run 'TestUpgrade$' -upgrade-from "$old/bin" >.test/upgrade.log 2>&1 || status=$?
grep '^stories: ' .test/upgrade.log || tail -40 .test/upgrade.log
exit $status
