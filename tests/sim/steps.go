package sim

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
	corev1 "k8s.io/api/core/v1"
)

// foreignTaint is what somebody else puts.
const (
	foreignTaint = "example.com/maintenance"
	softKey      = "example.com/crowded"
)

// step does one thing to the world, or as an operator.
func (s *sim) step(ctx workflow.Context, x Step) {
	do, known := steps[x.Do]
	if !known {
		s.judge.violates("no step %q is known", x.Do)
		return
	}
	s.count["step "+x.Do]++
	s.world.Advance()
	do(s, ctx, x)
	s.world.Advance()
}

// steps are all things that can happen, by name.
var steps = map[string]func(*sim, workflow.Context, Step){
	"down":        func(s *sim, _ workflow.Context, x Step) { s.ready(x.Cluster, false) },
	"up":          func(s *sim, _ workflow.Context, x Step) { s.ready(x.Cluster, true) },
	"die":         func(s *sim, _ workflow.Context, x Step) { s.world.Die(x.Cluster, true) },
	"sicken":      func(s *sim, _ workflow.Context, x Step) { s.world.Sicken(x.Cluster, true) },
	"cure":        func(s *sim, _ workflow.Context, x Step) { s.world.Sicken(x.Cluster, false) },
	"taint":       (*sim).putTaint,
	"untaint":     (*sim).dropTaint,
	"soft":        func(s *sim, _ workflow.Context, x Step) { s.softTaint(x.Cluster, true) },
	"unsoft":      func(s *sim, _ workflow.Context, x Step) { s.softTaint(x.Cluster, false) },
	"drop-rules":  func(s *sim, _ workflow.Context, _ Step) { s.rules(false) },
	"put-rules":   func(s *sim, _ workflow.Context, _ Step) { s.rules(true) },
	"pause":       func(s *sim, _ workflow.Context, x Step) { s.order(x.Cluster, workflows.UpdatePause) },
	"resume":      func(s *sim, _ workflow.Context, x Step) { s.order(x.Cluster, workflows.UpdateResume) },
	"cancel":      func(s *sim, _ workflow.Context, x Step) { s.order(x.Cluster, workflows.UpdateCancel) },
	"halt":        func(s *sim, _ workflow.Context, _ Step) { s.pacer(workflows.UpdateHalt, operator) },
	"go":          func(s *sim, _ workflow.Context, _ Step) { s.pacer(workflows.UpdateResume, operator) },
	"rate":        (*sim).setRate,
	"cancel-move": (*sim).cancelMigration,
	"replicas":    (*sim).replicas,
	"bump":        (*sim).bump,
	"delete":      (*sim).deleteBinding,
	"edit-policy": (*sim).editPolicy,
	"edit-rule":   (*sim).editRule,
	"hold-theirs": (*sim).holdTheirs,
	"drop-theirs": (*sim).dropTheirs,
	"aim-away":    aim(false),
	"aim-at":      aim(true),
	"create":      (*sim).createBinding,
	"opt-out":     func(s *sim, _ workflow.Context, x Step) { s.optOut(x, "false") },
	"opt-in":      func(s *sim, _ workflow.Context, x Step) { s.optOut(x, "") },
	"remove":      (*sim).removeCluster,
	"join":        (*sim).joinCluster,
	"terminate": func(s *sim, ctx workflow.Context, x Step) {
		s.terminate(ctx, workflows.ClusterFailoverID("", x.Cluster))
	},
	"terminate-move": func(s *sim, ctx workflow.Context, x Step) {
		s.terminate(ctx, workflows.BindingMigrationID("", x.Cluster, Binding{Name: x.Binding}.key()))
	},
	"require-external-probe": (*sim).requireExternalProbe,
	"deny":                   word(rules.ExternalProbeUp),
	"claim":                  word(rules.ExternalProbeDown),
	"silence":                word(silent),
	"affirm":                 word(rules.ExternalProbeAbsent),
	"fill":                   capacity(true),
	"empty":                  capacity(false),
	"put-policy":             putPolicy(true),
	"drop-policy":            putPolicy(false),
	"sever":                  network(corev1.ConditionFalse),
	"mend":                   network(corev1.ConditionTrue),
	"doubt":                  network(corev1.ConditionUnknown),
	"garble":                 func(s *sim, _ workflow.Context, x Step) { s.garble(x, malformed) },
	"ungarble":               func(s *sim, _ workflow.Context, x Step) { s.garble(x, "") },
	"babble":                 (*sim).babble,
	"observe":                func(s *sim, _ workflow.Context, x Step) { s.configure(x.Cluster, rules.ModeObserve) },
	"enforce":                func(s *sim, _ workflow.Context, x Step) { s.configure(x.Cluster, rules.ModeEnforce) },
	"resume-enforce":         (*sim).enforce,
	"drain":                  (*sim).drain,
	"approve":                (*sim).approve,
	"blame":                  (*sim).blame,
	"leave":                  (*sim).leave,
	"smudge":                 smudge(true),
	"unsmudge":               smudge(false),
	"soft-rule":              (*sim).softRule,
	"undrain":                (*sim).undrain,
	"skip":                   orderOne(workflows.UpdateSkip, false),
	"put-back":               orderOne(workflows.UpdatePutBack, false),
	"release":                orderOne(workflows.UpdateRelease, false),
	"cancel-one":             orderOne(workflows.UpdateCancel, false),
	"cancel-back":            orderOne(workflows.UpdateCancel, true),
	"put-back-move":          orderMigration(workflows.UpdatePutBack, operator, true),
	"release-move":           orderMigration(workflows.UpdateRelease, operator, false),
	"snooze":                 orderScoped(workflows.UpdateSnooze, snoozes),
	"prioritise":             orderScoped(workflows.UpdatePrioritise, prioritises),
	"pause-one":              orderScoped(workflows.UpdatePause, scopedTo),
	"resume-one":             orderScoped(workflows.UpdateResume, resumes),
	"confirm-fenced":         (*sim).confirmFenced,
	"cancel-all-back":        (*sim).cancelAllBack,
	"collect":                (*sim).collect,
	"lose":                   (*sim).lose,
	"ail":                    (*sim).ail,
	"heal":                   (*sim).heal,
	"remake":                 (*sim).remake,
	"unknown":                (*sim).unknown,
	"spoil":                  func(s *sim, _ workflow.Context, x Step) { s.world.Spoil(Binding{Name: x.Binding}.key()) },
	"revise":                 (*sim).revise,
	"app-pause":              orderApplication(workflows.UpdatePause, scopedTo),
	"app-enforce":            (*sim).enforceApplication,
	"app-resume":             orderApplication(workflows.UpdateResume, resumes),
	"app-snooze":             orderApplication(workflows.UpdateSnooze, snoozes),
	"app-approve":            orderApplication(workflows.UpdateApprove, scopedTo),
	"app-cancel":             orderApplication(workflows.UpdateCancel, copiesOf(false)),
	"app-cancel-back":        orderApplication(workflows.UpdateCancel, copiesOf(true)),
	"app-put-back":           orderApplication(workflows.UpdatePutBack, copiesOf(false)),
	"app-release":            orderApplication(workflows.UpdateRelease, copiesOf(false)),
	"app-terminate": func(s *sim, ctx workflow.Context, x Step) {
		s.terminate(ctx, workflows.ApplicationFailoverID("", Binding{Name: x.Binding}.key()))
	},
	"need":            (*sim).need,
	"unsure":          (*sim).unsure,
	"terminate-pacer": (*sim).terminatePacer,
	"blind":           func(s *sim, _ workflow.Context, _ Step) { s.watching = false },
	"see":             func(s *sim, _ workflow.Context, _ Step) { s.see() },
}

var operator = workflows.Order{Who: "jane", Reason: "a story"}

// there tells whether a cluster exists.
func (s *sim) there(cluster string) bool {
	_, err := s.world.Cluster(context.Background(), cluster)
	return err == nil
}

func (s *sim) ready(cluster string, ready bool) {
	if s.there(cluster) {
		s.world.Die(cluster, false)
		s.world.SetReady(cluster, ready)
	}
}

// unsure has nobody know whether a cluster is Ready: no rule matches that.
func (s *sim) unsure(_ workflow.Context, x Step) {
	if s.there(x.Cluster) {
		s.world.ChangeCluster(x.Cluster, func(c *karmada.Cluster) {
			c.Conditions = slices.Clone(c.Conditions)
			c.Conditions[0].Status, c.Conditions[0].LastTransition = corev1.ConditionUnknown, s.now()
		})
	}
}

func (s *sim) putTaint(_ workflow.Context, x Step) {
	if s.there(x.Cluster) {
		s.world.DropTaint(x.Cluster, foreignTaint)
		s.world.PutTaint(x.Cluster, corev1.Taint{Key: foreignTaint, Effect: corev1.TaintEffectNoExecute})
	}
}

func (s *sim) dropTaint(_ workflow.Context, x Step) {
	if s.there(x.Cluster) {
		s.world.DropTaint(x.Cluster, foreignTaint)
	}
}

// softTaint puts or drops somebody's soft taint.
func (s *sim) softTaint(cluster string, stands bool) {
	if !s.there(cluster) {
		return
	}
	s.world.DropTaint(cluster, softKey)
	if stands {
		s.world.PutTaint(cluster, corev1.Taint{Key: softKey, Effect: karmada.EffectPreferNoExecute})
	}
}

// order gives an order to a cluster's failover.
func (s *sim) order(cluster, update string) {
	s.update(workflows.ClusterFailoverID("", cluster), update, operator, func() {
		s.count["order "+update]++
		s.judge.ordered(cluster, update)
	})
}

// pacer gives an order to the pacer.
func (s *sim) pacer(update string, arg any) {
	s.update(workflows.FleetPacerID(""), update, arg, func() {
		s.count["order "+update]++
		s.judge.paced(update, arg)
	})
}

// setRate sets a rate in thousandths of an eviction per second.
func (s *sim) setRate(_ workflow.Context, x Step) {
	s.pacer(workflows.UpdateSetRate, workflows.SetRate{Order: operator, Rate: float64(x.N) / 1000})
}

func (s *sim) cancelMigration(_ workflow.Context, x Step) {
	key := Binding{Name: x.Binding}.key()
	s.update(workflows.BindingMigrationID("", x.Cluster, key), workflows.UpdateCancel, operator, func() {
		s.count["order cancel-move"]++
		s.judge.orderedOne(x.Cluster, key, workflows.UpdateCancel, false)
	})
}

func (s *sim) replicas(_ workflow.Context, x Step) {
	s.world.Edit(Binding{Name: x.Binding}.key(), func(b *karmada.Binding) {
		if b.Workload {
			b.Replicas = int32(max(1, x.N))
		}
	})
}

// bump edits what is nobody's: whoever has read it meanwhile loses his write.
func (s *sim) bump(_ workflow.Context, x Step) {
	s.world.Edit(Binding{Name: x.Binding}.key(), func(*karmada.Binding) {})
}

func (s *sim) deleteBinding(_ workflow.Context, x Step) {
	s.world.DeleteBinding(Binding{Name: x.Binding}.key())
}

func (s *sim) createBinding(_ workflow.Context, x Step) {
	for _, b := range s.schedule.Bindings {
		if b.Name == x.Binding && !s.world.Edit(b.key(), func(*karmada.Binding) {}) {
			s.world.AddBinding(b.object())
			delete(s.needs, b.key())
			for _, name := range b.Needs {
				s.needs[b.key()] = append(s.needs[b.key()], dependentKey(name))
			}
		}
	}
}

func (s *sim) optOut(x Step, enabled string) {
	s.world.Edit(Binding{Name: x.Binding}.key(), func(b *karmada.Binding) {
		b.Annotations = maps.Clone(b.Annotations)
		if b.Annotations == nil {
			b.Annotations = map[string]string{}
		}
		delete(b.Annotations, karmada.AnnotationEnabled)
		if enabled != "" {
			b.Annotations[karmada.AnnotationEnabled] = enabled
		}
	})
}

func (s *sim) removeCluster(_ workflow.Context, x Step) {
	if s.there(x.Cluster) {
		s.world.DeleteCluster(x.Cluster)
	}
}

func (s *sim) joinCluster(_ workflow.Context, x Step) {
	if !s.there(x.Cluster) {
		s.world.AddCluster(x.Cluster)
	}
}

// terminate ends a workflow as an operator would who should not have.
func (s *sim) terminate(ctx workflow.Context, id string) {
	if s.state[id] == running {
		s.count["terminated"]++
		s.judge.terminated(id)
		s.kill[id] = true
		_ = workflow.SignalExternalWorkflow(ctx, id, "", "wake", nil).Get(ctx, nil)
	}
}

// terminatePacer loses the pacer's state: the next one starts halted, and keeps what was ordered. An order that the
// judge has yet to hear of is in the memo, too.
func (s *sim) terminatePacer(ctx workflow.Context, _ Step) {
	memo, err := json.Marshal(s.orders)
	if err != nil {
		panic(err)
	}
	s.memory = activities.PacerMemory{Known: true, Lost: true, Memo: memo}
	if rate := s.orders.Rate; rate != nil {
		s.judge.paced(workflows.UpdateSetRate, workflows.SetRate{Rate: *rate})
	}
	s.terminate(ctx, workflows.FleetPacerID(""))
}

// see brings the controller back: a new one reads everything first.
func (s *sim) see() {
	if s.watching {
		return
	}
	s.watching, s.leads = true, s.now()
	s.world.Relist()
}

// settle makes the world well and the operators content: from here on all must end.
func (s *sim) settle(ctx workflow.Context) {
	s.dice.calm = true
	s.world.ScheduleTakes = 0
	s.see()
	for n := range s.schedule.Fleet {
		name := clusterName(n)
		if !s.there(name) {
			s.world.AddCluster(name)
		}
		s.world.Sicken(name, false)
		s.ready(name, true)
		s.world.DropTaint(name, foreignTaint)
		s.smudge(name, false)
		s.softTaint(name, false)
		if s.count["step fill"] > 0 {
			capacity(false)(s, ctx, Step{Cluster: name})
		}
		if s.policed || s.count["step sever"] > 0 {
			s.network(name, corev1.ConditionTrue)
		}
	}
	s.ungarble()
	s.mend(ctx)
	clear(s.words)
	if s.judge.switched() {
		for n := range s.schedule.Fleet {
			s.configure(clusterName(n), rules.ModeEnforce) // so that what has been left is found
		}
	}
	clear(s.spared)
	s.dropTheirs(ctx, Step{})
	s.policed = s.policed || s.count["step put-policy"] > 0 // what it has put goes as it says
	s.rules(true)
	s.pacer(workflows.UpdateResume, operator)
	for n := range s.schedule.Fleet {
		id := workflows.ClusterFailoverID("", clusterName(n))
		if s.state[id] == running {
			s.resumePaused(ctx, clusterName(n))
		}
	}
	s.enforceLeft(ctx) // who only observes ends no drain
	s.undrainAll(ctx)
	s.enforceLeft(ctx)
}

// resumePaused ends a pause, but leaves a stop as it is.
func (s *sim) resumePaused(ctx workflow.Context, cluster string) {
	status, err := query[workflows.FailoverStatus](s, workflows.ClusterFailoverID("", cluster), workflows.QueryStatus)
	if err != nil {
		s.judge.violates("the status of %s cannot be read: %v", cluster, err)
		return
	}
	if status.Paused != nil && status.Stopped == nil {
		s.order(cluster, workflows.UpdateResume)
		_ = workflow.Sleep(ctx, time.Second)
	}
}
