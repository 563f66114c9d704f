package proof_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
)

func heldAs(reason string, holders ...string) func(*karmada.Binding) {
	return func(b *karmada.Binding) {
		b.Tasks = []karmada.Task{{FromCluster: "m1", Producer: karmada.Producer, Reason: reason, Message: strings.Join(holders, " ")}}
	}
}

func left(b *karmada.Binding) { b.RequiredBy[0].Clusters = []string{"m2"} }

func directly(b *karmada.Binding) { b.Tasks[0].PurgeMode = karmada.PurgeDirectly }

func placedThere(b *karmada.Binding) { b.Clusters = []karmada.TargetCluster{{Name: "m1"}} }

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
	foreign := func(b *karmada.Binding) { b.Tasks = []karmada.Task{{FromCluster: "m1", Producer: "Other"}} }
	for name, tc := range map[string]struct {
		dependent *karmada.Binding
		want      proof.HoldPlan
	}{
		"as the first":                          {dependent: fixtures.Config(), want: proof.HoldPlan{Holders: []string{fixtures.Mine}}},
		"beside another parent":                 {dependent: fixtures.Config(heldAs(karmada.TaskReasonDependent, fixtures.Theirs)), want: proof.HoldPlan{Holders: []string{fixtures.Theirs, fixtures.Mine}}},
		"behind the dependent's own":            {dependent: fixtures.Config(heldAs(karmada.TaskReason, fixtures.Itself)), want: proof.HoldPlan{Holders: []string{fixtures.Itself, fixtures.Mine}}},
		"once":                                  {dependent: fixtures.Config(heldAs(karmada.TaskReasonDependent, fixtures.Mine)), want: proof.HoldPlan{Done: true}},
		"not where nothing of it is":            {dependent: fixtures.Config(left), want: proof.HoldPlan{Done: true}},
		"not where a placement has put it":      {dependent: fixtures.Config(placedThere), want: proof.HoldPlan{Done: true}},
		"also where its Work only still is":     {dependent: fixtures.Config(left, heldAs(karmada.TaskReasonDependent, fixtures.Theirs)), want: proof.HoldPlan{Holders: []string{fixtures.Theirs, fixtures.Mine}}},
		"not where an operator has it":          {dependent: fixtures.Config(heldAs(karmada.TaskReasonNeedsOperator, fixtures.Theirs)), want: proof.HoldPlan{Done: true}},
		"not where another producer holds it":   {dependent: fixtures.Config(foreign), want: proof.HoldPlan{Reason: reason.ForeignTask}},
		"not where it is deleted Directly":      {dependent: fixtures.Config(heldAs(karmada.TaskReason, fixtures.Itself), directly), want: proof.HoldPlan{Reason: reason.ForeignTask}},
		"in the place of a ban":                 {dependent: fixtures.Config(heldAs(karmada.TaskReasonBanned, fixtures.Theirs), directly), want: proof.HoldPlan{Holders: []string{fixtures.Mine}}},
		"not where an operator's keeps nothing": {dependent: fixtures.Config(heldAs(karmada.TaskReasonNeedsOperator, fixtures.Itself), directly), want: proof.HoldPlan{Reason: reason.ForeignTask}},
		"not where a ban is all there is":       {dependent: fixtures.Config(left, heldAs(karmada.TaskReasonBanned, fixtures.Theirs), directly), want: proof.HoldPlan{Done: true}},
		"not where no more fit":                 {dependent: fixtures.Config(heldAs(karmada.TaskReasonDependent, manyHolders()...)), want: proof.HoldPlan{Reason: reason.TooManyHolders}},
		"not in what cannot be read":            {dependent: fixtures.Config(func(b *karmada.Binding) { b.Malformed = "bad" }), want: proof.HoldPlan{Reason: reason.Malformed}},
	} {
		t.Run(name, func(t *testing.T) {
			got := proof.PlanHold(tc.dependent, "m1", fixtures.Mine)
			got.Message = ""
			require.Equal(t, tc.want, got)
			require.Equal(t, got.Done, proof.HeldFor(tc.dependent, "m1", fixtures.Mine), "what needs no write is held already")
		})
	}
}

// Rules: R4.10-3, R4.10-4, R4.10-5, R4.10-6.
func TestRamen2401OnlyTheLastHolderTakesTheTaskWithIt(t *testing.T) {
	for name, tc := range map[string]struct {
		dependent *karmada.Binding
		back      bool
		want      proof.HoldPlan
	}{
		"the last":                              {dependent: fixtures.Config(left, heldAs(karmada.TaskReasonDependent, fixtures.Mine)), back: false, want: proof.HoldPlan{Holders: []string{}}},
		"one of two":                            {dependent: fixtures.Config(left, heldAs(karmada.TaskReasonDependent, fixtures.Mine, fixtures.Theirs)), back: false, want: proof.HoldPlan{Holders: []string{fixtures.Theirs}}},
		"beside the dependent's own":            {dependent: fixtures.Config(heldAs(karmada.TaskReason, fixtures.Itself, fixtures.Mine)), back: false, want: proof.HoldPlan{Holders: []string{fixtures.Itself}}},
		"not entered":                           {dependent: fixtures.Config(heldAs(karmada.TaskReasonDependent, fixtures.Theirs)), back: false, want: proof.HoldPlan{Done: true}},
		"no task":                               {dependent: fixtures.Config(), back: true, want: proof.HoldPlan{Done: true}},
		"what an operator has is his":           {dependent: fixtures.Config(heldAs(karmada.TaskReasonKept, fixtures.Mine)), back: false, want: proof.HoldPlan{Done: true}},
		"back, and wanted there again":          {dependent: fixtures.Config(heldAs(karmada.TaskReasonDependent, fixtures.Mine)), back: true, want: proof.HoldPlan{Holders: []string{}}},
		"back, and not wanted there yet":        {dependent: fixtures.Config(left, heldAs(karmada.TaskReasonDependent, fixtures.Mine)), back: true, want: proof.HoldPlan{Holders: []string{}, Reason: reason.DependentsNotBack}},
		"back, with another who holds it there": {dependent: fixtures.Config(left, heldAs(karmada.TaskReasonDependent, fixtures.Mine, fixtures.Theirs)), back: true, want: proof.HoldPlan{Holders: []string{fixtures.Theirs}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := proof.PlanLeave(tc.dependent, "m1", fixtures.Mine, tc.back)
			got.Message = ""
			require.Equal(t, tc.want, got)
		})
	}
}

// Rules: R4.10-6.
func TestTheOwnMigrationIsTheFirstHolder(t *testing.T) {
	for name, tc := range map[string]struct {
		dependent *karmada.Binding
		owner     string
		others    []string
	}{
		"alone":        {dependent: fixtures.Config(heldAs(karmada.TaskReason, fixtures.Itself)), owner: fixtures.Itself, others: []string{}},
		"with parents": {dependent: fixtures.Config(heldAs(karmada.TaskReason, fixtures.Itself, fixtures.Mine, fixtures.Theirs)), owner: fixtures.Itself, others: []string{fixtures.Mine, fixtures.Theirs}},
		"parents only": {dependent: fixtures.Config(heldAs(karmada.TaskReasonDependent, fixtures.Mine, fixtures.Theirs)), others: []string{fixtures.Mine, fixtures.Theirs}},
	} {
		t.Run(name, func(t *testing.T) {
			task, _ := tc.dependent.TaskFor("m1")
			require.Equal(t, tc.owner, task.Owner())
			require.Equal(t, tc.others, task.Others())
			require.Equal(t, tc.owner != "", task.Owned())
		})
	}
}

// Rules: R4.7-61.
func TestServesHeld_AWorkloadOfItsPolicyIsHeldThere(t *testing.T) {
	ofPolicy := func(name string) func(*karmada.Binding) {
		return func(b *karmada.Binding) {
			b.Annotations = map[string]string{karmada.AnnotationPolicyNamespace: "shop", karmada.AnnotationPolicyName: name}
		}
	}
	task := func(reason string, mode karmada.PurgeMode) func(*karmada.Binding) {
		held := fixtures.Held("m1", 2)
		held.Reason, held.PurgeMode = reason, mode
		return fixtures.Task(held)
	}
	holds := task(karmada.TaskReason, karmada.PurgeGracefully)
	elsewhere := func(b *karmada.Binding) { b.Key.Namespace = "other" }
	service := func(change ...func(*karmada.Binding)) *karmada.Binding {
		b := fixtures.With(fixtures.Config(), ofPolicy("cart"))
		b.Workload = false
		return fixtures.With(b, change...)
	}
	ofMultiClusterService := func(b *karmada.Binding) {
		b.Annotations, b.Labels = nil, map[string]string{"binding.karmada.io/managed-by": "MultiClusterService"}
	}
	of := func(version, kind string) func(*karmada.Binding) {
		return func(b *karmada.Binding) { b.Resource.APIVersion, b.Resource.Kind = version, kind }
	}
	workload := func(change ...func(*karmada.Binding)) *karmada.Binding {
		return fixtures.With(fixtures.With(fixtures.Duplicated("m2"), ofPolicy("cart")), change...)
	}
	for name, tc := range map[string]struct {
		b, workload *karmada.Binding
		want        bool
	}{
		"held there":                  {b: service(), workload: workload(holds), want: true},
		"held as another's dependent": {b: service(), workload: workload(task(karmada.TaskReasonDependent, karmada.PurgeGracefully))},
		"not held":                    {b: service(), workload: workload()},
		"held on another cluster":     {b: service(), workload: workload(fixtures.Task(fixtures.Held("m3", 2)))},
		"of another policy":           {b: service(), workload: workload(holds, ofPolicy("till"))},
		"of no known policy":          {b: service(func(b *karmada.Binding) { b.Annotations = nil }), workload: workload(holds, func(b *karmada.Binding) { b.Annotations = nil })},
		"a MultiClusterService's":     {b: service(ofMultiClusterService), workload: workload(holds), want: true},
		"that of another namespace":   {b: service(ofMultiClusterService, elsewhere), workload: workload(holds)},
		"in another namespace":        {b: service(elsewhere), workload: workload(holds)},
		"a workload waits for none":   {b: workload(), workload: workload(holds)},
		"a CronJob waits for none":    {b: service(of("batch/v1", "CronJob")), workload: workload(holds)},
		"a CronJob is held there":     {b: service(), workload: service(of("batch/v1", "CronJob"), holds), want: true},
		"a DaemonSet is held there":   {b: service(), workload: service(of("apps/v1", "DaemonSet"), holds), want: true},
		"no workload":                 {b: service(), workload: service(holds)},
		"kept for good":               {b: service(), workload: workload(task(karmada.TaskReasonKept, karmada.PurgeNever))},
		"left to an operator":         {b: service(), workload: workload(task(karmada.TaskReasonNeedsOperator, karmada.PurgeGracefully))},
		"banned after its release":    {b: service(), workload: workload(task(karmada.TaskReasonBanned, karmada.PurgeDirectly))},
		"Directly: no copy is kept":   {b: service(), workload: workload(task(karmada.TaskReason, karmada.PurgeDirectly))},
		"another producer's task":     {b: service(), workload: workload(fixtures.Task(karmada.Task{FromCluster: "m1", Producer: karmada.TaintManager}))},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, proof.ServesHeld(tc.b, tc.workload, "m1"))
		})
	}
}

// Rules: R4.10-6, R4.10-7.
func TestHeldForParents_RefusesDirectlyWhileParentsNeedTheCopy(t *testing.T) {
	for name, tc := range map[string]struct {
		dependent *karmada.Binding
		mode      karmada.PurgeMode
		want      reason.Reason
	}{
		"a parent runs there":               {dependent: fixtures.Config(), mode: karmada.PurgeDirectly, want: reason.HeldForParents},
		"a parent runs there, gracefully":   {dependent: fixtures.Config(), mode: karmada.PurgeGracefully},
		"all parents have left":             {dependent: fixtures.Config(left, heldAs(karmada.TaskReason, fixtures.Itself)), mode: karmada.PurgeDirectly},
		"a parent's migration holds it":     {dependent: fixtures.Config(left, heldAs(karmada.TaskReasonDependent, fixtures.Mine)), mode: karmada.PurgeDirectly, want: reason.HeldForParents},
		"its own does not fit beside those": {dependent: fixtures.Config(heldAs(karmada.TaskReasonDependent, manyHolders()...)), mode: karmada.PurgeGracefully, want: reason.TooManyHolders},
	} {
		t.Run(name, func(t *testing.T) {
			why, _ := proof.HeldForParents(tc.dependent, "m1", tc.mode)
			require.Equal(t, tc.want, why)
		})
	}
}
