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
		{"it fails", standing{cluster: failing, rules: ruled}, false, "start cluster-failover/a cluster-observed 1"},
		{"it is well", standing{cluster: well, rules: ruled}, false, ""},
		{"its rule is gone", standing{cluster: failing}, false, ""},
		{"it is gone", standing{rules: ruled}, false, ""},
		{"something of Lifeboat's is left on it", standing{cluster: tainted, rules: ruled}, false, "start cluster-failover/a cluster-observed 1"},
		{"nobody can tell", standing{away: true}, false, "start cluster-failover/a cluster-observed 1"},
		{"a hold stands", standing{cluster: well, rules: ruled, held: heldFor("a")}, true, "start cluster-failover/a adopt a1"},
		{"a hold stands, the cluster is gone", standing{held: heldFor("a")}, true, "start cluster-failover/a adopt a1"},
		{"the hold has gone", standing{cluster: well, rules: ruled, held: binding("8", []string{"b"})}, true, ""},
		{"the hold that stands is for another cluster", standing{cluster: well, rules: ruled, held: heldFor("b")}, true, ""},
		{"the binding is gone", standing{cluster: well, rules: ruled}, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(o *Outbox, l *line) {
				o.doubt = &doubt{now: &tt.now, desk: NewDesk(o), read: asIs}
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
				require.Empty(t, l.closed, "the desk would say it again at once")
			})
		})
	}
}

func TestWhoeverRunsIsToldWithoutALook(t *testing.T) {
	inBubble(t, func(o *Outbox, l *line) {
		o.doubt = &doubt{now: &standing{cluster: cluster("a", "3", corev1.ConditionTrue)}, desk: NewDesk(o), read: asIs}
		l.running["cluster-failover/a"] = true
		o.Cluster(rules.FactOf(*cluster("a", "1", corev1.ConditionFalse)), true)
		pass(time.Minute)
		require.Equal(t, []string{"0s signal cluster-failover/a cluster-observed 1"}, l.lines())
	})
}
