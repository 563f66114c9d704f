package activities_test

import (
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
)

const deadHolder = "binding-migration/m1/shop/app"

// held sets Lifeboat's task on a binding for m1.
func (b *bench) held(key karmada.BindingKey, reason, message string) {
	b.world.Change(key, func(x *karmada.Binding) {
		x.Tasks = []karmada.Task{{FromCluster: "m1", Producer: karmada.Producer, Reason: reason, Message: message}}
	})
}

func (b *bench) dropHolder(holder string) {
	must[activities.DependentsResult](b, activities.NameDropHolder, activities.HolderRequest{
		Cluster: "m1", Mode: rules.ModeEnforce, Key: configKey, Holder: holder,
	})
}

// A holder that does not run any more may have left old pods that need what it held.
//
// Rules: R4.10-5, R4.10-9.
func TestADeadHolderIsNotDroppedFromUnderItsOldCopy(t *testing.T) {
	for name, c := range map[string]struct {
		parent  string // reason of the task on the holder's own binding, empty for none
		arrange func(*bench)
		want    string
	}{
		"kept":                           {parent: karmada.TaskReasonKept, want: "LifeboatKept: " + deadHolder},
		"left to a human":                {parent: karmada.TaskReasonNeedsOperator, want: "LifeboatNeedsOperator: " + deadHolder},
		"to be adopted":                  {parent: karmada.TaskReason, want: "LifeboatDependent: " + deadHolder},
		"its old copy has gone":          {parent: karmada.TaskReasonBanned},
		"it has moved":                   {},
		"it is back, its dependent not":  {arrange: func(b *bench) { b.moveApp("m1"); b.unwanted() }, want: "LifeboatDependent: " + deadHolder},
		"it is back, and so is the rest": {arrange: func(b *bench) { b.moveApp("m1") }},
		"kept, beside the dependent's own": {parent: karmada.TaskReasonKept, arrange: func(b *bench) {
			b.held(configKey, karmada.TaskReason, "own "+deadHolder)
		}, want: "ClusterFailover: own " + deadHolder},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.withConfig()
			b.held(configKey, karmada.TaskReasonDependent, deadHolder)
			b.moveApp("m2")
			if c.parent != "" {
				b.held(appKey("app"), c.parent, deadHolder)
			}
			if c.arrange != nil {
				c.arrange(b)
			}
			b.dropHolder(deadHolder)
			require.Equal(t, c.want, b.holders())
		})
	}
}

func (b *bench) unwanted() {
	b.world.Change(configKey, func(x *karmada.Binding) { x.RequiredBy = nil })
}

// The id of a long name is cut: its binding is found by its task.
//
// Rules: R4.10-9.
func TestTheBindingOfAHolderWithACutIDIsFound(t *testing.T) {
	b := newBench(t)
	b.withConfig()
	b.moveApp("m2")
	cut := deadHolder + strings.Repeat("x", 240-len(deadHolder))
	b.held(appKey("app"), karmada.TaskReasonKept, cut)
	b.held(configKey, karmada.TaskReasonDependent, cut)
	b.dropHolder(cut)
	require.Equal(t, "LifeboatKept: "+cut, b.holders())
	b.held(appKey("app"), karmada.TaskReasonBanned, "")
	b.held(configKey, karmada.TaskReasonDependent, cut)
	b.dropHolder(cut)
	require.Empty(t, b.holders())
}

// propagateDeps may be switched off in mid-move: what is held then is found all the same.
//
// Rules: R4.10-3.
func TestHoldersAreFoundAfterPropagateDepsIsSwitchedOff(t *testing.T) {
	for name, c := range map[string]struct {
		list map[string]string
		ask  activities.DependentsRequest
	}{
		"by a run that took over":    {list: map[string]string{karmada.AnnotationDependencies: "[]"}, ask: activities.DependentsRequest{Search: true}},
		"by one that lost an answer": {ask: activities.DependentsRequest{Lost: true}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.withConfig()
			b.held(configKey, karmada.TaskReasonDependent, "owner-1")
			b.world.Change(appKey("app"), func(x *karmada.Binding) { x.PropagateDeps, x.Annotations = false, c.list })
			c.ask.MoveRef = b.dependents().MoveRef
			must[activities.DependentsResult](b, activities.NameDropDependents, c.ask)
			require.Empty(t, b.holders())
		})
	}
}
