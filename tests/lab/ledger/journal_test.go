package ledger

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/members"
)

// story plays what the watches would tell, second by second.
type story struct {
	t       *testing.T
	journal *Journal
	now     time.Time
	clock   int
	// copies are the ready copies by member and Work uid.
	copies map[string]map[string]members.Workload
	dead   map[string]bool
}

const shop = "shop/cart"

func begin(t *testing.T) *story {
	s := &story{t: t, journal: NewJournal(), now: time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC), copies: map[string]map[string]members.Workload{}, dead: map[string]bool{}}
	for _, name := range []string{"member1", "member2"} {
		s.copies[name] = map[string]members.Workload{}
		s.cluster(name)
	}
	s.tick()
	return s
}

func (s *story) tick() {
	s.now = s.now.Add(time.Second)
	var all []karmada.MemberStatus
	for name, copies := range s.copies {
		status := karmada.MemberStatus{Name: name, Alive: !s.dead[name]}
		for _, c := range copies {
			status.Workloads = append(status.Workloads, c)
		}
		all = append(all, status)
	}
	s.journal.SeeMembers(s.now, all)
}

func (s *story) cluster(name string, taints ...corev1.Taint) {
	c := &api.Cluster{}
	c.Name = name
	c.Spec.Taints = taints
	s.journal.SeeCluster(s.now, c, false)
	s.now = s.now.Add(time.Second)
}

func (s *story) failing(name string) {
	at := metav1.NewTime(s.now)
	s.cluster(name, corev1.Taint{Key: "not-reachable", Effect: corev1.TaintEffectNoExecute, TimeAdded: &at})
}

// serve lets a member run a complete copy.
func (s *story) serve(member string) string {
	uid := "work-" + member
	s.work(member, uid)
	s.copies[member][uid] = members.Workload{Identity: members.Identity{WorkUID: uid, Replicas: 2}, ReadyReplicas: 2, Running: true}
	s.tick()
	return uid
}

func (s *story) work(member, uid string) *api.Work {
	w := &api.Work{}
	w.Namespace, w.Name, w.UID = api.ExecutionNamespace(member), "cart-1", types.UID(uid)
	w.Annotations = map[string]string{api.AnnotationBindingNamespace: "shop", api.AnnotationBindingName: "cart"}
	s.journal.SeeWork(s.now, w, false)
	return w
}

func (s *story) unwork(member, uid string) {
	s.journal.SeeWork(s.now, s.work(member, uid), true)
	delete(s.copies[member], uid)
	s.tick()
}

// binding writes the binding's targets and the clusters that Lifeboat holds.
func (s *story) binding(targets []string, held ...string) *api.Binding {
	b := &api.Binding{}
	b.Kind, b.Namespace, b.Name, b.UID = api.KindResourceBinding, "shop", "cart", "uid-1"
	b.Spec.Resource.Kind, b.Spec.Replicas = "Deployment", 2
	for _, name := range targets {
		b.Spec.Clusters = append(b.Spec.Clusters, api.TargetCluster{Name: name})
	}
	for _, name := range held {
		b.RawTasks = append(b.RawTasks, map[string]any{"fromCluster": name, "producer": "Lifeboat", "reason": "ClusterFailover"})
		b.Spec.GracefulEvictionTasks = append(b.Spec.GracefulEvictionTasks, api.EvictionTask{FromCluster: name, PurgeMode: "Gracefully"})
	}
	s.see(b)
	return b
}

func (s *story) see(b *api.Binding) {
	s.journal.SeeBinding(s.now, b, false)
	s.now = s.now.Add(time.Second)
}

// untilHeld: member1 serves, fails, and Lifeboat evicts the binding.
func untilHeld(t *testing.T) *story {
	s := begin(t)
	s.binding([]string{"member1"})
	s.serve("member1")
	s.dead["member1"] = true
	s.tick()
	s.failing("member1")
	s.binding(nil, "member1")
	return s
}

// moved: the whole way to a release, and the recovery of member1.
func moved(t *testing.T) *story {
	s := untilHeld(t)
	s.binding([]string{"member2"}, "member1")
	s.serve("member2")
	s.binding([]string{"member2"})
	delete(s.dead, "member1")
	s.tick()
	s.cluster("member1")
	s.unwork("member1", "work-member1")
	return s
}

func outcome(name string, to ...string) Report {
	key := Key{Namespace: "shop", Name: "cart"}
	return Report{Cluster: "member1", FailoverID: "e", Ended: "Recovered", Attempts: []Attempt{{
		Attempt: 1, Results: []Result{{Key: key, UID: "uid-1", Outcome: name, To: to}},
	}}}
}

func (s *story) judge(q Question) []string {
	var problems []string
	v := s.journal.Judge(s.now, q)
	for _, c := range v.Checks {
		problems = append(problems, c.Problems...)
	}
	require.Equal(s.t, len(problems) == 0, v.OK)
	return problems
}

func TestAMoveThatIsReportedAsItHappenedIsAccepted(t *testing.T) {
	s := moved(t)
	require.Empty(t, s.judge(Question{Reports: []Report{outcome("Migrated", "member2")}, Rate: 1, Chunk: 1}))
	v := s.journal.Judge(s.now, Question{Reports: []Report{outcome("Migrated", "member2")}})
	for _, c := range v.Checks[:4] {
		require.NotZero(t, c.Looked, c.Name)
	}
}

func TestALostBindingIsMissed(t *testing.T) {
	report := outcome("Migrated", "member2")
	report.Attempts[0].Results = nil
	require.ElementsMatch(t, []string{"shop/cart on member1: it is affected, and the report does not know it"}, moved(t).judge(Question{Reports: []Report{report}}))
}

func TestTwoOutcomesInOneAttemptAreTooMany(t *testing.T) {
	report := outcome("Migrated", "member2")
	report.Attempts[0].Results = append(report.Attempts[0].Results, report.Attempts[0].Results[0])
	require.Contains(t, strings.Join(moved(t).judge(Question{Reports: []Report{report}}), "\n"), "2 outcomes in attempt 1")
}

func TestAnOutcomeThatDidNotHappenIsRefused(t *testing.T) {
	for name, to := range map[string]string{"Restored": "", "Abandoned": "", "Gone": "", "MovedByOthers": "", "NeedsOperator": "", "Migrated": "member3", "Blocked": ""} {
		t.Run(name, func(t *testing.T) {
			var clusters []string
			if to != "" {
				clusters = []string{to}
			}
			require.Len(t, moved(t).judge(Question{Reports: []Report{outcome(name, clusters...)}}), 1)
		})
	}
}

func TestADroppedTaskIsSeenTwice(t *testing.T) {
	s := untilHeld(t)
	s.binding([]string{"member2"}, "member1")
	s.binding([]string{"member2"}) // nothing runs there yet
	deleted := s.work("member1", "work-member1")
	at := metav1.NewTime(s.now)
	deleted.DeletionTimestamp = &at
	s.journal.SeeWork(s.now, deleted, false)
	s.tick()
	s.serve("member2")
	problems := strings.Join(s.judge(Question{Reports: []Report{outcome("Migrated", "member2")}}), "\n")
	require.Contains(t, problems, "shop/cart: no running and no held copy for")
	require.Contains(t, problems, "shop/cart: the hold on member1 was dropped")
}

func TestARestoredBindingKeepsItsWork(t *testing.T) {
	for name, replaced := range map[string]bool{"the same Work": false, "another Work": true} {
		t.Run(name, func(t *testing.T) {
			s := untilHeld(t)
			delete(s.dead, "member1")
			s.tick()
			if replaced {
				s.unwork("member1", "work-member1")
				s.work("member1", "work-new")
			}
			s.binding([]string{"member1"})
			s.cluster("member1")
			require.Equal(t, replaced, len(s.judge(Question{Reports: []Report{outcome("Restored")}})) > 0)
		})
	}
}

func TestWhatIsLeftBehindIsNamed(t *testing.T) {
	s := untilHeld(t)
	c := &api.Cluster{}
	c.Name = "member1"
	c.Annotations = map[string]string{annotationAddedTaints: `[{"key":"k","effect":"NoSchedule"}]`}
	c.Spec.Taints = []corev1.Taint{
		{Key: "failover.lifeboat.dev/evacuating", Effect: corev1.TaintEffectNoSchedule}, {Key: "k", Effect: corev1.TaintEffectNoSchedule}, {Key: "other", Effect: corev1.TaintEffectNoSchedule},
	}
	s.journal.SeeCluster(s.now, c, false)
	problems := strings.Join(s.judge(Question{Reports: []Report{outcome("Migrated")}}), "\n")
	for _, want := range []string{"hold task for member1", "taint failover.lifeboat.dev/evacuating", "taint k:NoSchedule", "annotation " + annotationAddedTaints} {
		require.Contains(t, problems, want)
	}
	require.NotContains(t, problems, "other")
}

func TestEvictionsAbovePaceAreSeen(t *testing.T) {
	s := begin(t)
	s.failing("member1")
	for i := range 6 {
		b := &api.Binding{}
		b.Kind, b.Name, b.UID = api.KindClusterResourceBinding, fmt.Sprint("role", i), types.UID(fmt.Sprint(i))
		b.Spec.Clusters = []api.TargetCluster{{Name: "member1"}}
		s.journal.SeeBinding(s.now, b, false)
		out := *b
		out.Spec.Clusters = nil
		out.RawTasks = []any{map[string]any{"fromCluster": "member1", "producer": "Lifeboat"}}
		s.journal.SeeBinding(s.now, &out, false)
		s.now = s.now.Add(500 * time.Millisecond)
	}
	q := Question{Clusters: []string{"nobody"}, Rate: 2, Chunk: 1}
	require.Empty(t, s.judge(q))
	q.Rate = 1
	require.Contains(t, strings.Join(s.judge(q), "\n"), "evictions in")
}

func TestWhoToleratesForEverIsNotAffected(t *testing.T) {
	seconds := int64(5)
	for name, c := range map[string]struct {
		toleration corev1.Toleration
		affected   bool
	}{
		"without end":     {toleration: corev1.Toleration{Operator: corev1.TolerationOpExists}, affected: false},
		"for some time":   {toleration: corev1.Toleration{Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds}, affected: true},
		"another effect":  {toleration: corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}, affected: true},
		"another key":     {toleration: corev1.Toleration{Operator: corev1.TolerationOpExists, Key: "other"}, affected: true},
		"another value":   {toleration: corev1.Toleration{Key: "not-reachable", Value: "x"}, affected: true},
		"exactly that":    {toleration: corev1.Toleration{Key: "not-reachable"}, affected: false},
		"any, by default": {toleration: corev1.Toleration{}, affected: false},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			b := s.binding([]string{"member1"})
			b.Spec.Placement = &api.Placement{ClusterTolerations: []corev1.Toleration{c.toleration}}
			s.see(b)
			s.failing("member1")
			require.Equal(t, c.affected, len(s.judge(Question{})) > 0)
		})
	}
}

func TestOptedOutBindingsAreNotAffected(t *testing.T) {
	s := begin(t)
	s.journal.SeeNamespace("shop", map[string]string{annotationEnabled: "false"})
	s.binding([]string{"member1"})
	s.failing("member1")
	require.Empty(t, s.judge(Question{}))
	require.Len(t, s.judge(Question{Reports: []Report{outcome("Abandoned")}}), 1, "reported although it did not have to move")
}

func TestARunningFailoverMayLeaveBindingsOpen(t *testing.T) {
	s := untilHeld(t)
	status := Report{Cluster: "member1", Phase: "Evacuating", Attempt: 1, Moves: map[string]Open{shop: {Phase: "Placing"}}}
	require.Empty(t, s.judge(Question{Reports: []Report{status}}))
	status.Phase = "Recovered"
	require.NotEmpty(t, s.judge(Question{Reports: []Report{status}}))
}

func TestAReportIsReadInBothForms(t *testing.T) {
	for name, content := range map[string]string{
		"status":                `{"cluster":"member1","phase":"Evacuated","attempt":1,"results":[{"key":{"namespace":"shop","name":"cart"},"outcome":"Migrated"}]}`,
		"answer of the command": `{"cluster":"member1","workflowID":"x","status":{"cluster":"member1","phase":"Evacuated","attempt":1,"results":[{"key":{"namespace":"shop","name":"cart"}}]}}`,
		"result":                `{"cluster":"member1","ended":"Recovered","attempts":[{"attempt":1,"results":[{"key":{"namespace":"shop","name":"cart"},"outcome":"Migrated"}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			r, err := ReadReport([]byte(content))
			require.NoError(t, err)
			require.Equal(t, shop, r.attempts()[0].Results[0].Key.String())
		})
	}
	empty, err := json.Marshal(Report{})
	require.NoError(t, err)
	_, err = ReadReport(empty)
	require.Error(t, err)
}
