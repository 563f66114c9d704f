package watch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// standing is Karmada as it stands; away: it does not answer.
type standing struct {
	cluster *karmada.Cluster
	rules   []rules.Rule
	held    *karmada.Binding
	away    bool
}

var errAway = errors.New("away")

func (s *standing) ClusterNow(context.Context, string) (karmada.Cluster, error) {
	switch {
	case s.away:
		return karmada.Cluster{}, errAway
	case s.cluster == nil:
		return karmada.Cluster{}, karmada.ErrGone
	}
	return *s.cluster, nil
}

func (s *standing) BindingNow(context.Context, karmada.BindingKey) (karmada.Binding, error) {
	if s.held == nil {
		return karmada.Binding{}, karmada.ErrGone
	}
	return *s.held, nil
}

func (s *standing) Rules(context.Context) ([]rules.Rule, error) { return s.rules, nil }

func asIs(c *karmada.Cluster) *karmada.Cluster { return c }

// A controller that has heard nothing for a while starts no failover of what is over.
//
// Rules: R4.9-56.
func TestNoFailoverIsStartedForWhatIsOver(t *testing.T) {
	failing, well := cluster("a", "2", corev1.ConditionFalse), cluster("a", "3", corev1.ConditionTrue)
	tainted := cluster("a", "3", corev1.ConditionTrue)
	tainted.Added = []karmada.AddedTaint{{Key: "not-ready", Effect: corev1.TaintEffectNoExecute}}
	heldFor := func(name string) *karmada.Binding {
		return binding("7", nil, task(name, "binding-migration/"+name+"/shop/cart", karmada.TaskReason))
	}
	ruled := []rules.Rule{notReady()}
	for _, tt := range []struct {
		name  string
		now   standing
		adopt bool
		want  string // what is delivered
	}{
		{name: "it fails", now: standing{cluster: failing, rules: ruled}, adopt: false, want: "start cluster-failover/a cluster-observed 1"},
		{name: "it is well", now: standing{cluster: well, rules: ruled}, adopt: false},
		{name: "its rule is gone", now: standing{cluster: failing}, adopt: false},
		{name: "it is gone", now: standing{rules: ruled}, adopt: false},
		{name: "something of Lifeboat's is left on it", now: standing{cluster: tainted, rules: ruled}, adopt: false, want: "start cluster-failover/a cluster-observed 1"},
		{name: "nobody can tell", now: standing{away: true}, adopt: false, want: "start cluster-failover/a cluster-observed 1"},
		{name: "a hold stands", now: standing{cluster: well, rules: ruled, held: heldFor("a")}, adopt: true, want: "start cluster-failover/a adopt a1"},
		{name: "a hold stands, the cluster is gone", now: standing{held: heldFor("a")}, adopt: true, want: "start cluster-failover/a adopt a1"},
		{name: "the hold has gone", now: standing{cluster: well, rules: ruled, held: binding("8", []string{"b"})}, adopt: true},
		{name: "the hold that stands is for another cluster", now: standing{cluster: well, rules: ruled, held: heldFor("b")}, adopt: true},
		{name: "the binding is gone", now: standing{cluster: well, rules: ruled}, adopt: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(o *Outbox, l *line) {
				o.doubt = &doubt{now: &tt.now, router: NewRouter(o), read: asIs}
				c := &counts{by: map[string]int{}}
				o.Counter = c
				if tt.adopt {
					o.Adopt("a", fact("7"))
				} else {
					o.Cluster(rules.FactOf(*cluster("a", "1", corev1.ConditionFalse)), true)
				}
				pass(time.Minute)
				require.Equal(t, tt.want, strings.TrimPrefix(strings.Join(l.lines(), "\n"), "0s "))
				how := telemetry.ResultSent
				if tt.want == "" {
					how = telemetry.ResultNeedless
				}
				require.Equal(t, map[string]int{how: 1}, c.by)
				require.Empty(t, l.closed, "the router would say it again at once")
			})
		})
	}
}

func TestWhoeverRunsIsToldWithoutALook(t *testing.T) {
	inBubble(t, func(o *Outbox, l *line) {
		o.doubt = &doubt{now: &standing{cluster: cluster("a", "3", corev1.ConditionTrue)}, router: NewRouter(o), read: asIs}
		l.running["cluster-failover/a"] = true
		o.Cluster(rules.FactOf(*cluster("a", "1", corev1.ConditionFalse)), true)
		pass(time.Minute)
		require.Equal(t, []string{"0s signal cluster-failover/a cluster-observed 1"}, l.lines())
	})
}
