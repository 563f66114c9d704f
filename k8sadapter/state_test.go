package k8sadapter

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
)

// flink is what a FlinkDeployment reports.
const flink = `{"jobStatus":{"checkpoint":1000000,"state":"RUNNING","startTime":1700000000001},"ratio":0.5,"ok":true,
	"list":[{"name":"a","v":1},{"name":"b","v":2}],"empty":"","none":null}`

// The dialect is that of kubectl, as Karmada evaluates it.
//
// Rules: R4.11-1, R4.11-4.
func TestKarmada4905StateIsReadInKarmadasOwnDialect(t *testing.T) {
	for path, want := range map[string]string{
		"{.jobStatus.checkpoint}":           "1000000",
		"{ .jobStatus.state }":              "RUNNING",
		"cp-{.jobStatus.checkpoint}":        "cp-1000000",
		"{.jobStatus.startTime}":            "1700000000001",
		"{.ratio}":                          "0.5",
		"{.ok}":                             "true",
		"{.empty}":                          "",
		`{.list[?(@.name=="b")].v}`:         "2",
		"{.list[*].v}":                      "1 2",
		"{range .list[*]}{.name}-{end}":     "a-b-",
		"{$.jobStatus.state}":               "RUNNING",
		"just text: Karmada takes it as is": "just text: Karmada takes it as is",
	} {
		t.Run(path, func(t *testing.T) {
			got := fixtures.Must(PreservedState(json.RawMessage(flink), []karmada.StateRule{{Label: "l", Path: path}}))(t)
			require.Equal(t, map[string]string{"l": want}, got)
		})
	}
}

// Rules: R4.11-4.
func TestAPathThatCannotBeReadSaysWhichRule(t *testing.T) {
	fine := karmada.StateRule{Label: "fine", Path: "{.ok}"}
	for name, tc := range map[string]struct{ status, path string }{
		"a key that is missing":  {status: flink, path: "{.jobStatus.savepoint}"},
		"no such syntax":         {status: flink, path: "{.jobStatus"},
		"an index out of range":  {status: flink, path: "{.list[7].v}"},
		"a range without an end": {status: flink, path: "{range .list[*]}{.name}"},
		"an unknown function":    {status: flink, path: "{foo .x}"},
		"longer than any label":  {status: `{"x":"` + strings.Repeat("y", 5000) + `"}`, path: "{.x}"},
		"everything there is":    {status: `{"x":"` + strings.Repeat("y", 5000) + `"}`, path: "{}{..}"},
		"a status that is none":  {status: `"RUNNING"`, path: "{.x}"},
		"a status that is cut":   {status: `{"x":`, path: "{.x}"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := PreservedState(json.RawMessage(tc.status), []karmada.StateRule{fine, {Label: "odd", Path: tc.path}})
			require.ErrorIs(t, err, karmada.ErrInvalid)
			require.Nil(t, got, "one rule that fails fails them all")
			if strings.HasPrefix(tc.status, "{\"j") {
				require.ErrorContains(t, err, "odd")
			}
		})
	}
}

// Tenants write policies: a path of theirs that doubles its work with every few characters
// must not be evaluated. (With a few more repetitions, these would never end.)
//
// Rules: R4.11-4.
func TestAPathThatWouldRunForEverIsRefused(t *testing.T) {
	for name, path := range map[string]string{
		"descents out of brackets":       "{" + strings.Repeat("['.','.']", 12) + "}",
		"ranges without an end":          strings.Repeat("{range}", 12),
		"ranges within ranges":           strings.Repeat("{range ..}", 3) + strings.Repeat("{end}", 3),
		"a descent after a descent":      "{..list[*]..v}",
		"a descent within a filter":      "{..list[?(@..v)]}",
		"the same members over and over": "{" + strings.Repeat("['list','list']", 2) + "}" + "{" + strings.Repeat("[0,0,0,0]", 4) + "}",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := PreservedState(json.RawMessage(flink), []karmada.StateRule{{Label: "l", Path: path}})
			require.ErrorIs(t, err, karmada.ErrInvalid)
			require.ErrorContains(t, err, "again and again")
		})
	}
}

// FuzzPreservedState: whatever a path and a status say, nothing breaks.
func FuzzPreservedState(f *testing.F) {
	for _, path := range []string{"{.jobStatus.checkpoint}", "{range .list[*]}{.name}{end}", "{.list[?(@.v>1)]}", "{..}", "{.list[-1:]}", "{"} {
		f.Add(path, flink)
	}
	f.Fuzz(func(t *testing.T, path, status string) {
		if len(path) > karmada.MaxStatePath {
			return
		}
		got, err := PreservedState(json.RawMessage(status), []karmada.StateRule{{Label: "l", Path: path}})
		if err != nil {
			require.ErrorIs(t, err, karmada.ErrInvalid)
			return
		}
		require.LessOrEqual(t, len(got["l"]), maxStateValue)
	})
}

func TestMoreStateRulesThanAnAttemptFreezesAreMalformed(t *testing.T) {
	one := `{"aliasLabelName":"a","jsonPath":"{.x}"}`
	binding := func(rules string) karmada.Binding {
		return DecodeBinding([]byte(strings.Replace(wholeBinding, `[{"aliasLabelName":"a","jsonPath":"b"}]`, rules, 1)))
	}
	require.Equal(t, []karmada.StateRule{{Label: "a", Path: "{.x}"}}, binding("["+one+"]").StateRules)
	require.Empty(t, binding("[]").Malformed)
	for _, rules := range []string{
		"[" + strings.Repeat(one+",", karmada.MaxStateRules) + one + "]",
		`[{"aliasLabelName":"a","jsonPath":"` + strings.Repeat("x", karmada.MaxStatePath+1) + `"}]`,
		`[{"aliasLabelName":"` + strings.Repeat("x", karmada.MaxStatePath+1) + `","jsonPath":"{.x}"}]`,
		`[{"aliasLabelName":1,"jsonPath":"{.x}"}]`, `{}`, `["x"]`,
	} {
		b := binding(rules)
		require.NotEmpty(t, b.Malformed, rules[:min(60, len(rules))])
		require.LessOrEqual(t, len(b.StateRules), 1, "nothing big is frozen")
	}
}

// The last task is the only one whose state Karmada hands on.
//
// Rules: R4.11-1, R4.7-9.
func TestTheEvictPatchCarriesTheState(t *testing.T) {
	state := map[string]string{"cp": "17", "at": "9"}
	const carried = `"preservedLabelState":{"at":"9","cp":"17"}`
	write := func(raw string, state map[string]string) string {
		patch := fixtures.Must(patchOf(activities.EvictWrite{
			Binding: decoded(t, raw), Cluster: "m1", Owner: "o", Now: at, Purge: karmada.PurgeDirectly, State: state,
		}))(t)
		return string(patch)
	}
	fresh := write(shared, state)
	require.True(t, strings.HasSuffix(fresh, `"clustersBeforeFailover":["m2","m1"],`+carried+`}]}}`), fresh)
	require.Contains(t, fresh, `"preservedLabelState":{"k":"v"},"later":[1.0]}`, "another's task keeps its own")
	require.NotContains(t, write(shared, nil), `"fromCluster":"m1","purgeMode":"Directly","replicas":2,"preservedLabelState"`)

	putBack := strings.Replace(heldAlone, `[{"name":"m2","replicas":1}]`, `[{"name":"m2","replicas":1},{"name":"m1","replicas":1}]`, 1)
	again := write(putBack, state)
	require.Less(t, strings.Index(again, `"fromCluster":"m4"`), strings.Index(again, carried), "Lifeboat's becomes the last one: %s", again)
	old := strings.Replace(putBack, `"later":1}`, `"later":1,`+carried+`}`, 1)
	require.Contains(t, write(old, nil), carried, "a repeat without state leaves what stands")

	ban := strings.Replace(old, `"reason":"ClusterFailover","message":"old"`, `"reason":"`+karmada.TaskReasonBanned+`","message":"old"`, 1)
	require.NotContains(t, write(ban, nil), carried, "what a ban carried belonged to an older move")

	patch, err := patchOf(activities.HoldWrite{Binding: decoded(t, shared), Cluster: "m9", Owner: "o", Now: at, Purge: karmada.PurgeDirectly, State: state})
	require.NoError(t, err)
	require.Contains(t, string(patch), carried, "what is held again carries it again")
}

// The cache keeps every binding; the raw statuses of their copies and the raw items, which only writes need, stay out of it.
func TestTheWatchKeepsNothingRaw(t *testing.T) {
	whole, slim := DecodeBinding([]byte(wholeBinding)), slimBinding([]byte(wholeBinding))
	require.JSONEq(t, `{"generation":4,"observedGeneration":3,"replicas":2,"readyReplicas":1}`, string(whole.Status.Aggregated[0].Status))
	for i := range whole.Status.Aggregated {
		require.Empty(t, slim.Status.Aggregated[i].Status)
		whole.Status.Aggregated[i].Status = nil
	}
	require.Empty(t, slim.RawClusters)
	require.Empty(t, slim.RawTasks)
	whole.RawClusters, whole.RawTasks = nil, nil
	require.Equal(t, whole, slim)
}
