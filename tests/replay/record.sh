#!/bin/sh
# Tells a few of the end-to-end stories on real servers and keeps the histories of
# every workflow that took part. The corpus is replaced as a whole, and only when
# all of these stories went well.
set -eu

cd "$(dirname "$0")/../.."
stories='full_evacuation|blip_shorter_than_the_window|recovery_while_tolerating|recovery_with_an_unplaced_binding'
stories="$stories|no_target_until_a_cluster_joins|new_target_dies_while_healthy_on_paper|scheduler_puts_it_back"
stories="$stories|operator_pauses_and_resumes|operator_cancels|operator_drains_and_undrains"
stories="$stories|scheduler_puts_it_back_after_the_release|recovery_that_the_scheduler_would_undo"
stories="$stories|purge_directly_on_a_silent_cluster|purge_directly_on_a_cluster_that_answers"
stories="$stories|application_moves|application_is_unhealthy_there_too|cluster_fails_while_its_application_moves|release_is_suspected"

make build
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
go test -count=1 -timeout 20m ./tests/e2e -run "TestStories/^($stories)\$" -args -record "$fresh"
rm -f tests/replay/testdata/*.json.gz
mkdir -p tests/replay/testdata
cp "$fresh"/*.json.gz tests/replay/testdata/
go test -count=1 -timeout 5m ./tests/replay
