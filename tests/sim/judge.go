package sim

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// judge holds every write, every end and the quiet at last against the invariants. It
// shares the product's types and none of its verdicts.
type judge struct {
	s          *sim
	violations []string

	ruling  bool
	evicted map[string]*eviction // by cluster, binding and uid: the newest
	law     law
	// sights are how each cluster stood, oldest first, and readAt is when the writer of
	// the write at hand read them.
	sights map[string][]sight
	readAt time.Time
	// assessed is when each failover read its cluster for the answers that it has had with
	// an assessment, in their order: what it confirms follows from the last.
	assessed map[string][]time.Time
	// affected are the bindings that a failover has evicted, by cluster.
	affected map[string]map[string]time.Time
	// yes are an operator's approvals, by cluster, binding and uid.
	yes map[string][]time.Time
	// owed are bindings that stood under an untolerated taint for long, by cluster.
	// stood is since when the judge has seen each on its failed cluster.
	owed  map[string]map[string]bool
	stood map[string]map[string]time.Time
	// wishes are orders about one binding, by cluster, binding and uid; fences are a
	// operator's words that a cluster is dead.
	wishes map[string][]wish
	fences map[string][]time.Time
	// modes are what the config says of a cluster, starts when its failovers began, and
	// enforced when somebody asked to enforce one.
	modes            map[string][]modeFrom
	starts, enforced map[string][]time.Time
	// drains are when each cluster was evicted from last.
	drains map[string]time.Time
	// prompt: nothing in this story keeps a taint back.
	prompt bool
	// saw is how each migration's own binding stood when its activities read it last, and
	// approved what the plug-in of a story has said yes to.
	saw          map[string]karmada.Binding
	endorsements map[aCopy][]karmada.TargetCluster
	// well is since when every look of a migration has found a copy well, by its workflow id
	// and the copy's cluster.
	well map[string]map[string]time.Time
	// shown is what well said of a migration when it asked for its last release: what it is told
	// later, it could not say.
	shown map[string]map[string]time.Time
	// newest is the newest version of its binding that each migration has read or was told of, and
	// versions are all that ever stood.
	// said are the copies that the newest verdict found well.
	newest   map[string]string
	said     map[string][]string
	versions map[string]*karmada.Binding
	// handed are the last words of migrations, by cluster.
	handed map[string][]activities.MigrationReport
	// remade is when the Work of a copy was made anew.
	remade map[aCopy]time.Time
	// froze are the policies that the attempts of a failover may go by, by cluster, binding and
	// uid, and anew who is frozen once more. listing is what a workflow's list has read.
	froze   map[string][]frozen
	anew    map[string]bool
	listing map[string][]karmada.Binding
	// listsLost is for how long a failover that runs has waited for lists whose answers were lost, by its id, and
	// cancelled until when a cancel has kept it from observing, by cluster.
	listsLost map[string]time.Duration
	cancelled map[string]time.Time
	// applications judges their failovers.
	applications *applicationJudge
}

// eviction is what the judge keeps of one.
type eviction struct {
	at       time.Time
	began    time.Time               // of the move that wrote it
	clusters []karmada.TargetCluster // before it
	// ready are the copies beside the old one that were well for certain, by cluster, and how
	// many of their replicas were ready; -1 where they do not say.
	ready  map[string]int64
	source types.UID // of the cluster
	// generation is the binding's after it.
	generation int64
	purge      karmada.PurgeMode
	kept       []frozen  // what its writer may have gone by
	work       types.UID // of the old copy
	followers  []follower
	// fenced: somebody vouched that the old copy was dead when its hold was dropped.
	fenced bool
	// restored: the old copy was put back in its place.
	restored bool
	// released is when its hold was dropped; zero while it stands.
	released time.Time
	// returned is when the hold of the one before was dropped by proof, where no drain stands;
	// left is when that one was written.
	returned, proven, left time.Time
	// asked is why an operator was to be asked about it, empty for none.
	asked string
	// application: it left because it was Unhealthy there.
	application bool
}

func newJudge(s *sim) *judge {
	j := &judge{
		s: s, evicted: map[string]*eviction{}, affected: map[string]map[string]time.Time{}, owed: map[string]map[string]bool{}, stood: map[string]map[string]time.Time{}, sights: map[string][]sight{},
		yes: map[string][]time.Time{}, wishes: map[string][]wish{}, fences: map[string][]time.Time{}, drains: map[string]time.Time{},
		modes: map[string][]modeFrom{}, starts: map[string][]time.Time{}, enforced: map[string][]time.Time{},
		law: newLaw(s.schedule.Rate), prompt: s.schedule.prompt(),
		saw: map[string]karmada.Binding{}, endorsements: map[aCopy][]karmada.TargetCluster{}, well: map[string]map[string]time.Time{}, newest: map[string]string{}, said: map[string][]string{}, shown: map[string]map[string]time.Time{}, versions: map[string]*karmada.Binding{}, assessed: map[string][]time.Time{}, remade: map[aCopy]time.Time{},
		handed: map[string][]activities.MigrationReport{},
		froze:  map[string][]frozen{}, anew: map[string]bool{}, listing: map[string][]karmada.Binding{},
		listsLost: map[string]time.Duration{}, cancelled: map[string]time.Time{},
	}
	j.applications = newApplicationJudge(j)
	s.world.OnWrite = j.wrote
	s.world.OnTaint = j.tainted
	return j
}

// mostViolations keeps one broken guard from filling the screen.
const mostViolations = 10

func (j *judge) violates(format string, args ...any) {
	if len(j.violations) < mostViolations {
		at := j.s.now().Sub(begins)
		j.violations = append(j.violations, fmt.Sprintf("at %s: ", at)+fmt.Sprintf(format, args...))
	}
}

func (j *judge) ruled(there bool) {
	j.ruling = there
	for n := range j.s.schedule.Fleet {
		j.sees(clusterName(n))
	}
	j.counted(nil, nil)
}

// counted notes how a cluster stands, and how much of the fleet is down.
func (j *judge) counted(old, now *karmada.Cluster) {
	if now == nil {
		now = old
	}
	if now != nil {
		j.sees(now.Name)
	}
	down, fleet := 0, 0
	for n := range j.s.schedule.Fleet {
		if c, there := j.s.world.Standing(clusterName(n)); there {
			fleet++
			unsure := len(c.Conditions) > 0 && c.Conditions[0].Status == corev1.ConditionUnknown
			if !isReady(c) && !unsure && !aboutUs(c) && j.aimsAt(c.Name) { // without a rule nobody says that it has failed
				down++
			}
		}
	}
	j.law.look(j.s.now(), down, fleet)
	j.applications.pace.look(j.s.now(), down, fleet)
	j.applications.clusterChanged()
}

func (j *judge) ordered(cluster, update string) {
	j.law.ordered(j.s.now(), cluster, update)
	switch update {
	case workflows.UpdateCancel:
		j.cancelled[cluster] = begins.AddDate(1, 0, 0)
	case workflows.UpdateResume:
		if _, is := j.cancelled[cluster]; is {
			j.cancelled[cluster] = j.s.now() // the windows of its rules begin anew
		}
	}
	if c, there := j.s.world.Standing(cluster); there && c.Stopped != nil && update == workflows.UpdateResume {
		j.thaws(cluster) // what was stopped begins a new attempt
	}
}

// started notes that a failover has begun, which knows nothing of the one before.
func (j *judge) started(cluster string) {
	j.starts[cluster] = append(j.starts[cluster], j.s.now())
	delete(j.listsLost, workflows.ClusterFailoverID("", cluster))
	delete(j.cancelled, cluster)
}

func (j *judge) paced(update string, arg any) {
	j.law.paced(j.s.now(), update, arg)
	if r, is := arg.(workflows.SetRate); is {
		r.Rate *= quarter
		arg = r
	}
	j.applications.pace.paced(j.s.now(), update, arg)
	if update == workflows.UpdateResume {
		j.applications.resumed()
	}
}

func id(cluster string, b *karmada.Binding) string {
	return cluster + " " + b.Key.String() + " " + string(b.UID)
}

// held finds Lifeboat's hold task for a cluster.
func held(b *karmada.Binding, cluster string) *karmada.Task {
	for n := range b.Tasks {
		if t := &b.Tasks[n]; t.FromCluster == cluster && t.Producer == karmada.Producer {
			return t
		}
	}
	return nil
}

func targets(b *karmada.Binding, cluster string) bool {
	return slices.ContainsFunc(b.Clusters, func(t karmada.TargetCluster) bool { return t.Name == cluster })
}

// wrote judges one write on a binding. It runs under the world's lock.
func (j *judge) wrote(w world.Write, before, after karmada.Binding) {
	was := held(&before, w.Cluster)
	first := was == nil || was.Reason == karmada.TaskReasonBanned
	begins := w.Op == "evict" && targets(&before, w.Cluster) && first
	begins = begins || before.Placement == nil && was == nil && held(&after, w.Cluster) != nil
	j.observing(w, begins)
	j.onlooks(w, &before)
	j.emptied(w, &before, &after)
	j.rescheduled(w, &before, &after)
	if before.Malformed != "" {
		j.violates("12: %s of %s, which nobody understands", w.Op, w.Binding)
	}
	j.changed(&after)
	j.foreign(w, before, after)
	if j.faithful(); before.Placement == nil {
		j.lost(w, &before, &after)
		return // it follows others: what it is there for is judged with them
	}
	j.swaps(w, &before, &after)
	j.untargeted(w, &before, &after)
	j.twoEvictors(w, &before)
	j.heldAgain(w, &before, &after)
	j.meant(w, &before, &after, first)
}

// heldAgain notes that a hold which was released is written once more.
func (j *judge) heldAgain(w world.Write, before, after *karmada.Binding) {
	e, is := j.evicted[id(w.Cluster, after)], held(after, w.Cluster)
	if e != nil && held(before, w.Cluster) == nil && is != nil && is.Owned() {
		e.released = time.Time{}
	}
}

// meant judges a write by what it means for the binding and the cluster that it is about.
func (j *judge) meant(w world.Write, before, after *karmada.Binding, first bool) {
	was, is := held(before, w.Cluster), held(after, w.Cluster)
	dropped := was != nil && is == nil
	back := targets(after, w.Cluster)
	j.drivesOff(w, was, is, back)
	switch {
	case dropped && was.Reason == karmada.TaskReasonBanned:
		j.lifts(w)
	case banned(was, is):
		j.s.count["bans"]++
		j.bans(w)
		j.releases(w, before)
	case targets(before, w.Cluster) && !back:
		if !j.applications.writes {
			j.leftAlone(w, before)
		}
		j.evicts(w, before, after, first)
		j.took(w, before, after, first)
	case dropped && back:
		j.restores(w, before)
		j.back(w, before, after)
	case dropped, leavesToParents(was, is) && !back:
		j.releases(w, before)
	}
}

// drivesOff judges that a binding which a placement of its own has put there gets no hold for parents.
func (j *judge) drivesOff(w world.Write, was, is *karmada.Task, back bool) {
	if back && was == nil && is != nil && is.ForDependent() {
		j.violates("1: %s is on %s by a placement of its own, and gets a hold there: the scheduler takes it away", w.Binding, w.Cluster)
	}
}

// leavesToParents: its own hold goes; those of parents may outlive it.
func leavesToParents(was, is *karmada.Task) bool {
	return was != nil && was.Owned() && is != nil && is.ForDependent()
}

// emptied: no write leaves a binding with neither a target nor a hold.
func (j *judge) emptied(w world.Write, before, after *karmada.Binding) {
	had := before.Placement != nil && (len(before.Clusters) > 0 || len(before.Tasks) > 0)
	if had && len(after.Clusters) == 0 && !anyHold(after) && !j.bygone(w.Cluster, before) {
		j.violates("2: %s leaves %s with neither target nor hold", w.Op, w.Binding)
	}
}

// rescheduled: a reschedule divides from scratch, so a write that asks for one leaves no
// survivor: nobody is a target but whom that very write put back.
func (j *judge) rescheduled(w world.Write, before, after *karmada.Binding) {
	at, was := after.RescheduleTriggeredAt, before.RescheduleTriggeredAt
	if at == nil || was != nil && was.Equal(*at) {
		return
	}
	j.s.count["reschedules"]++
	for _, t := range after.Clusters {
		if targets(before, t.Name) && held(after, t.Name) == nil {
			j.violates("2: %s of %s asks for a reschedule, and %s serves it without a hold", w.Op, w.Binding, t.Name)
		}
	}
}

// anyHold: somebody's task holds a copy.
func anyHold(b *karmada.Binding) bool {
	return slices.ContainsFunc(b.Tasks, func(t karmada.Task) bool { return t.SuppressDeletion != nil && *t.SuppressDeletion })
}

// foreign: what is not Lifeboat's survives.
func (j *judge) foreign(w world.Write, before, after karmada.Binding) {
	others := func(b karmada.Binding) []karmada.Task {
		return slices.DeleteFunc(slices.Clone(b.Tasks), func(t karmada.Task) bool { return t.Producer == karmada.Producer })
	}
	same := func(x, y karmada.Task) bool { return reflect.DeepEqual(x, y) }
	if !slices.EqualFunc(others(before), others(after), same) || !maps.Equal(before.Annotations, after.Annotations) || before.Replicas != after.Replicas {
		j.violates("9: %s changed what is not Lifeboat's of %s", w.Op, w.Binding)
	}
}

// evicts judges that a cluster is taken out: it must fail, for this binding, now.
func (j *judge) evicts(w world.Write, b, after *karmada.Binding, first bool) {
	application := j.applications.writes
	j.causes(w, b)
	if !first {
		j.againStopped(w)
		j.s.count["put back by the scheduler, removed again"]++
		return
	}
	j.s.count["evictions"]++
	if application {
		j.applications.evicts(w, b)
	} else {
		j.affects(w, b)
	}
	c, _ := j.s.world.Standing(w.Cluster)
	work, _ := j.s.world.StandingWork(b.Key, w.Cluster)
	last := j.evicted[id(w.Cluster, b)]
	if last == nil || application || last.application || c.Drain != nil || last.source != c.UID || j.diedThere(w.Cluster, b, last) {
		last = &eviction{}
	}
	purge := j.purgedAs(w, b, after)
	j.evicted[id(w.Cluster, b)] = &eviction{
		returned: last.proven, left: last.at, at: j.s.now(), began: j.s.ran[workflows.BindingMigrationID("", w.Cluster, b.Key)], clusters: b.Clusters, ready: j.ready(w, b), source: c.UID, purge: purge, kept: j.kept(w.Cluster, b), work: work.UID, followers: j.followers(w, b, purge),
		application: application,
	}
	j.asked(w, b)
	j.directly(w, purge)
	j.crammed(w, b)
	j.paces(w)
}

func isReady(c karmada.Cluster) bool {
	_, ready := readySince(c)
	return ready
}

func readySince(c karmada.Cluster) (time.Time, bool) {
	at := slices.IndexFunc(c.Conditions, func(x karmada.Condition) bool {
		return x.Type == karmada.ConditionReady && x.Status == corev1.ConditionTrue
	})
	if at < 0 {
		return time.Time{}, false
	}
	return c.Conditions[at].LastTransition, true
}

func (j *judge) departed(cluster string) bool {
	_, there := j.s.world.Standing(cluster)
	return !there
}

// bygone: the cluster that the binding was taken from is gone, though another of its
// name may be there.
func (j *judge) bygone(cluster string, b *karmada.Binding) bool {
	c, there := j.s.world.Standing(cluster)
	e := j.evicted[id(cluster, b)]
	return !there || e != nil && e.source != c.UID
}
