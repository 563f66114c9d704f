package failover_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
)

const (
	mine   = "binding-migration/m1/shop/cart-deployment"
	theirs = "binding-migration/m1/shop/menu-deployment"
	itself = "binding-migration/m1/shop/config-configmap"
)

// config is a dependent that parents on m1 need.
func config(edits ...func(*failover.Binding)) *failover.Binding {
	b := &failover.Binding{
		Key:        failover.BindingKey{Namespace: "shop", Name: "config-configmap"},
		RequiredBy: []failover.RequiredBy{{Namespace: "shop", Name: "cart-deployment", Clusters: []string{"m1"}}},
	}
	for _, edit := range edits {
		edit(b)
	}
	return b
}

func heldAs(reason string, holders ...string) func(*failover.Binding) {
	return func(b *failover.Binding) {
		b.Tasks = []failover.Task{{FromCluster: "m1", Producer: failover.Producer, Reason: reason, Message: strings.Join(holders, " ")}}
	}
}

func left(b *failover.Binding) { b.RequiredBy[0].Clusters = []string{"m2"} }

func directly(b *failover.Binding) { b.Tasks[0].PurgeMode = failover.PurgeDirectly }

// manyHolders are so many holders that no further one fits.
func manyHolders() []string {
	var all []string
	for i := range 40 {
		all = append(all, fmt.Sprintf("binding-migration/m1/shop/n%03d", i))
	}
	return all[:len(all)-8]
}

// Rules: R4.10-2, R4.10-6, R4.10-7.
func TestAParentEntersItselfAsAHolder(t *testing.T) {
	foreign := func(b *failover.Binding) { b.Tasks = []failover.Task{{FromCluster: "m1", Producer: "Other"}} }
	for name, tc := range map[string]struct {
		dependent *failover.Binding
		want      failover.HoldPlan
	}{
		"as the first":                        {config(), failover.HoldPlan{Holders: []string{mine}}},
		"beside another parent":               {config(heldAs(failover.TaskReasonDependent, theirs)), failover.HoldPlan{Holders: []string{theirs, mine}}},
		"behind the dependent's own":          {config(heldAs(failover.TaskReason, itself)), failover.HoldPlan{Holders: []string{itself, mine}}},
		"once":                                {config(heldAs(failover.TaskReasonDependent, mine)), failover.HoldPlan{Done: true}},
		"not where nothing of it is":          {config(left), failover.HoldPlan{Done: true}},
		"also where its Work only still is":   {config(left, heldAs(failover.TaskReasonDependent, theirs)), failover.HoldPlan{Holders: []string{theirs, mine}}},
		"not where a human has it":            {config(heldAs(failover.TaskReasonLeftToHuman, theirs)), failover.HoldPlan{Done: true}},
		"not where another producer holds it": {config(foreign), failover.HoldPlan{Reason: failover.ReasonForeignTask}},
		"not where it is deleted Directly":    {config(heldAs(failover.TaskReason, itself), directly), failover.HoldPlan{Reason: failover.ReasonForeignTask}},
		"not where a ban keeps nothing":       {config(heldAs(failover.TaskReasonBanned, theirs), directly), failover.HoldPlan{Reason: failover.ReasonForeignTask}},
		"not where a human's keeps nothing":   {config(heldAs(failover.TaskReasonLeftToHuman, itself), directly), failover.HoldPlan{Reason: failover.ReasonForeignTask}},
		"not where a ban is all there is":     {config(left, heldAs(failover.TaskReasonBanned, theirs), directly), failover.HoldPlan{Done: true}},
		"not where no more fit":               {config(heldAs(failover.TaskReasonDependent, manyHolders()...)), failover.HoldPlan{Reason: failover.ReasonTooManyHolders}},
		"not in what cannot be read":          {config(func(b *failover.Binding) { b.Malformed = "bad" }), failover.HoldPlan{Reason: failover.ReasonMalformed}},
	} {
		t.Run(name, func(t *testing.T) {
			got := failover.PlanHold(tc.dependent, "m1", mine)
			got.Message = ""
			require.Equal(t, tc.want, got)
			require.Equal(t, got.Done, failover.HeldFor(tc.dependent, "m1", mine), "what needs no write is held already")
		})
	}
}

// Rules: R4.10-3, R4.10-4, R4.10-5, R4.10-6.
func TestRamen2401OnlyTheLastHolderTakesTheTaskWithIt(t *testing.T) {
	for name, tc := range map[string]struct {
		dependent *failover.Binding
		back      bool
		want      failover.HoldPlan
	}{
		"the last":                              {config(left, heldAs(failover.TaskReasonDependent, mine)), false, failover.HoldPlan{Holders: []string{}}},
		"one of two":                            {config(left, heldAs(failover.TaskReasonDependent, mine, theirs)), false, failover.HoldPlan{Holders: []string{theirs}}},
		"beside the dependent's own":            {config(heldAs(failover.TaskReason, itself, mine)), false, failover.HoldPlan{Holders: []string{itself}}},
		"not entered":                           {config(heldAs(failover.TaskReasonDependent, theirs)), false, failover.HoldPlan{Done: true}},
		"no task":                               {config(), true, failover.HoldPlan{Done: true}},
		"what a human has is his":               {config(heldAs(failover.TaskReasonKept, mine)), false, failover.HoldPlan{Done: true}},
		"back, and wanted there again":          {config(heldAs(failover.TaskReasonDependent, mine)), true, failover.HoldPlan{Holders: []string{}}},
		"back, and not wanted there yet":        {config(left, heldAs(failover.TaskReasonDependent, mine)), true, failover.HoldPlan{Holders: []string{}, Reason: failover.ReasonDependentsNotBack}},
		"back, with another who holds it there": {config(left, heldAs(failover.TaskReasonDependent, mine, theirs)), true, failover.HoldPlan{Holders: []string{theirs}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := failover.PlanLeave(tc.dependent, "m1", mine, tc.back)
			got.Message = ""
			require.Equal(t, tc.want, got)
		})
	}
}

// Rules: R4.10-6.
func TestTheOwnMigrationIsTheFirstHolder(t *testing.T) {
	for name, tc := range map[string]struct {
		dependent *failover.Binding
		owner     string
		others    []string
	}{
		"alone":        {config(heldAs(failover.TaskReason, itself)), itself, []string{}},
		"with parents": {config(heldAs(failover.TaskReason, itself, mine, theirs)), itself, []string{mine, theirs}},
		"parents only": {config(heldAs(failover.TaskReasonDependent, mine, theirs)), "", []string{mine, theirs}},
	} {
		t.Run(name, func(t *testing.T) {
			task, _ := tc.dependent.TaskFor("m1")
			require.Equal(t, tc.owner, task.Owner())
			require.Equal(t, tc.others, task.Others())
			require.Equal(t, tc.owner != "", task.Owned())
		})
	}
	alone, crowded := config(heldAs(failover.TaskReason, itself)), config(heldAs(failover.TaskReasonDependent, manyHolders()...))
	reason, _ := failover.HeldForParents(alone, "m1", failover.PurgeDirectly)
	require.Empty(t, reason)
	reason, _ = failover.HeldForParents(config(heldAs(failover.TaskReasonDependent, mine)), "m1", failover.PurgeDirectly)
	require.Equal(t, failover.ReasonHeldForParents, reason)
	reason, _ = failover.HeldForParents(crowded, "m1", failover.PurgeGracefully)
	require.Equal(t, failover.ReasonTooManyHolders, reason)
}

func TestDependentsAreNamedAsKarmadaNamesTheirBindings(t *testing.T) {
	b := &failover.Binding{Annotations: map[string]string{failover.AnnotationDependencies: `[
		{"apiVersion":"v1","kind":"ConfigMap","namespace":"default","name":"onecfg"},
		{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","namespace":"shop","name":"system:Reader"},
		{"apiVersion":"v1","kind":"ConfigMap","namespace":"default","name":"onecfg"},
		{"apiVersion":"v1","kind":"Secret","namespace":"shop","labelSelector":{"matchLabels":{"a":"b"}}}]`}}
	d := failover.DependenciesOf(b)
	require.Equal(t, failover.Dependencies{Known: true, Selected: true, Keys: []failover.BindingKey{
		{Namespace: "default", Name: "onecfg-configmap"}, {Namespace: "shop", Name: "system.reader-role"},
	}}, d)
	require.False(t, failover.DependenciesOf(&failover.Binding{}).Any())
	for _, empty := range []string{"", "[]", "null"} {
		b.Annotations[failover.AnnotationDependencies] = empty
		d := failover.DependenciesOf(b)
		require.True(t, d.Known)
		require.False(t, d.Any())
	}
}

// Rules: R4.10-5.
func TestADependentIsWantedAgainOnlyWhereItsParentIsAndTakesItAlong(t *testing.T) {
	const byName, byLabels = `[{"kind":"ConfigMap","namespace":"shop","name":"config"}]`, `[{"kind":"ConfigMap","namespace":"shop","labelSelector":{}}]`
	unnamed := func(b *failover.Binding) { b.RequiredBy = nil }
	for name, tc := range map[string]struct {
		list      string
		parent    func(*failover.Binding)
		dependent *failover.Binding
		want      bool
	}{
		"named":                   {byName, nil, config(unnamed), true},
		"selected":                {byLabels, nil, config(), true},
		"selected no more":        {byLabels, nil, config(unnamed), false},
		"not listed":              {"[]", nil, config(), false},
		"the list cannot be read": {"{", nil, config(unnamed), true},
		"nothing is taken along":  {byName, func(b *failover.Binding) { b.PropagateDeps = false }, config(), false},
		"the parent is elsewhere": {byName, func(b *failover.Binding) { b.Clusters[0].Name = "m2" }, config(), false},
	} {
		t.Run(name, func(t *testing.T) {
			parent := &failover.Binding{
				Key: failover.BindingKey{Namespace: "shop", Name: "cart-deployment"}, PropagateDeps: true,
				Annotations: map[string]string{failover.AnnotationDependencies: tc.list},
				Clusters:    []failover.TargetCluster{{Name: "m1"}},
			}
			if tc.parent != nil {
				tc.parent(parent)
			}
			require.Equal(t, tc.want, failover.NeedsOn(parent, tc.dependent, "m1"))
		})
	}
}

func TestAMigrationsIDNamesItsBinding(t *testing.T) {
	for id, want := range map[string]failover.BindingKey{
		mine:                             {Namespace: "shop", Name: "cart-deployment"},
		"eu/" + mine:                     {Namespace: "shop", Name: "cart-deployment"},
		"binding-migration/m1/-/ns-role": {Name: "ns-role"},
	} {
		key, whole := failover.MigrationKey(id, "m1")
		require.True(t, whole, id)
		require.Equal(t, want, key)
	}
	for _, id := range []string{"owner", "binding-migration/m2/shop/a", mine + strings.Repeat("x", 240)} {
		_, whole := failover.MigrationKey(id, "m1")
		require.False(t, whole, id)
	}
}
