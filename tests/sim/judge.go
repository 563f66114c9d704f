package sim

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/lifeboat-failover/lifeboat/tests/world"
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
	// affected are the bindings that an episode has evicted, by cluster.
	affected map[string]map[string]time.Time
	// owed are bindings that stood under an untolerated taint for long, by cluster.
	owed map[string]map[string]bool
}

// eviction is what the judge keeps of one.
type eviction struct {
	at       time.Time
	clusters []failover.TargetCluster // before it
	source   types.UID                // of the cluster
	// generation is the binding's after it.
	generation int64
	purge      failover.PurgeMode
	// released is when its hold was dropped; zero while it stands.
	released time.Time
}

func newJudge(s *sim) *judge {
	j := &judge{
		s: s, evicted: map[string]*eviction{}, affected: map[string]map[string]time.Time{}, owed: map[string]map[string]bool{}, sights: map[string][]sight{},
		law: newLaw(s.schedule.Rate),
	}
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
func (j *judge) counted(old, now *failover.Cluster) {
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
			if !isReady(c) && j.ruling { // without a rule nobody says that it has failed
				down++
			}
		}
	}
	j.law.look(j.s.now(), down, fleet)
}

func (j *judge) ordered(cluster, update string) { j.law.ordered(j.s.now(), cluster, update) }

func (j *judge) paced(update string, arg any) { j.law.paced(j.s.now(), update, arg) }

func id(cluster string, b *failover.Binding) string {
	return cluster + " " + b.Key.String() + " " + string(b.UID)
}

// held finds our hold task for a cluster.
func held(b *failover.Binding, cluster string) *failover.Task {
	for n := range b.Tasks {
		if t := &b.Tasks[n]; t.FromCluster == cluster && t.Producer == failover.Producer {
			return t
		}
	}
	return nil
}

func targets(b *failover.Binding, cluster string) bool {
	return slices.ContainsFunc(b.Clusters, func(t failover.TargetCluster) bool { return t.Name == cluster })
}

// wrote judges one write on a binding. It runs under the world's lock.
func (j *judge) wrote(w world.Write, before, after failover.Binding) {
	j.observing(w)
	j.emptied(w, &before, &after)
	j.rescheduled(w, &before, &after)
	j.changed(&after)
	j.foreign(w, before, after)
	dropped := held(&before, w.Cluster) != nil && held(&after, w.Cluster) == nil
	back := targets(&after, w.Cluster)
	switch {
	case targets(&before, w.Cluster) && !back:
		j.evicts(w, &before, held(&before, w.Cluster) == nil)
		if e := j.evicted[id(w.Cluster, &before)]; e != nil && e.generation == 0 {
			e.generation = after.Generation
		}
	case dropped && back:
		j.restores(w, &before)
	case dropped:
		j.releases(w, &before)
	}
}

// emptied: no write leaves a binding with neither a target nor a hold.
func (j *judge) emptied(w world.Write, before, after *failover.Binding) {
	had := len(before.Clusters) > 0 || len(before.Tasks) > 0
	if had && len(after.Clusters) == 0 && !anyHold(after) && !j.departed(w.Cluster) {
		j.violates("2: %s leaves %s with neither target nor hold", w.Op, w.Binding)
	}
}

// rescheduled: a reschedule divides from scratch, so a write that asks for one leaves no
// survivor: nobody is a target but whom that very write put back.
func (j *judge) rescheduled(w world.Write, before, after *failover.Binding) {
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
func anyHold(b *failover.Binding) bool {
	return slices.ContainsFunc(b.Tasks, func(t failover.Task) bool { return t.SuppressDeletion != nil && *t.SuppressDeletion })
}

// observing: an episode in observe writes nothing.
func (j *judge) observing(w world.Write) {
	if j.s.schedule.Mode == string(failover.ModeObserve) {
		j.violates("10: %s of %s %s in observe", w.Op, w.Cluster, w.Binding)
	}
}

// foreign: what is not ours survives.
func (j *judge) foreign(w world.Write, before, after failover.Binding) {
	others := func(b failover.Binding) []failover.Task {
		return slices.DeleteFunc(slices.Clone(b.Tasks), func(t failover.Task) bool { return t.Producer == failover.Producer })
	}
	same := func(x, y failover.Task) bool { return reflect.DeepEqual(x, y) }
	if !slices.EqualFunc(others(before), others(after), same) || !maps.Equal(before.Annotations, after.Annotations) || before.Replicas != after.Replicas {
		j.violates("9: %s changed what is not ours of %s", w.Op, w.Binding)
	}
}

// evicts judges that a cluster is taken out: it must fail, for this binding, now.
func (j *judge) evicts(w world.Write, b *failover.Binding, first bool) {
	if !j.moved(w.Cluster, b) {
		j.violates("3: %s is evicted from %s, and nothing moves it", w.Binding, w.Cluster)
	}
	if !first {
		j.s.count["put back by the scheduler, removed again"]++
		return
	}
	j.s.count["evictions"]++
	if old := j.affected[w.Cluster]; old == nil {
		j.affected[w.Cluster] = map[string]time.Time{}
	}
	j.affected[w.Cluster][w.Binding+" "+string(b.UID)] = j.s.now()
	c, _ := j.s.world.Standing(w.Cluster)
	j.evicted[id(w.Cluster, b)] = &eviction{at: j.s.now(), clusters: b.Clusters, source: c.UID, purge: b.PurgeMode}
	if broken := j.law.evict(j.s.now(), w.Cluster); broken != "" {
		j.violates("4: %s from %s: %s", w.Binding, w.Cluster, broken)
	}
}

// sight is a cluster as it stood from a moment on.
type sight struct {
	from  time.Time
	there bool
	ruled bool
	c     failover.Cluster
}

// sees notes how a cluster stands now.
func (j *judge) sees(name string) {
	c, there := j.s.world.Standing(name)
	j.sights[name] = append(j.sights[name], sight{j.s.now(), there, j.ruling, c})
}

// moved: something moves the binding now, or did when its writer read the cluster:
// between that and the write lies a request that was already under way.
func (j *judge) moved(cluster string, b *failover.Binding) bool {
	list := j.sights[cluster]
	for n := len(list) - 1; n >= 0; n-- {
		if j.moves(list[n], b) {
			return true
		}
		if !list[n].from.After(j.readAt) {
			break
		}
	}
	return false
}

// moves: a NoExecute taint stands that this binding does not tolerate, or not any more;
// and where the taint is ours, its rule's condition holds.
func (j *judge) moves(at sight, b *failover.Binding) bool {
	c := at.c
	return at.there && slices.ContainsFunc(c.Taints, func(t corev1.Taint) bool {
		if t.Effect == failover.EffectPreferNoExecute {
			return j.softly(t, b)
		}
		if t.Effect != corev1.TaintEffectNoExecute {
			return false
		}
		ours := slices.ContainsFunc(c.Added, func(a failover.AddedTaint) bool { return a.Key == t.Key && a.Effect == t.Effect })
		if ours && (!at.ruled || isReady(c)) {
			return false
		}
		for _, x := range b.Placement.ClusterTolerations {
			if x.Key == t.Key && x.TolerationSeconds != nil {
				return !j.s.now().Before(t.TimeAdded.Add(time.Duration(*x.TolerationSeconds) * time.Second))
			}
		}
		return true
	})
}

// softly: a soft taint moves what asks for it, once its own time has run out.
func (j *judge) softly(t corev1.Taint, b *failover.Binding) bool {
	seconds := 300
	if own, err := strconv.Atoi(b.Annotations[failover.AnnotationTolerationSeconds]); err == nil {
		seconds = own
	}
	return b.HasClusterFailover && !j.s.now().Before(t.TimeAdded.Add(time.Duration(seconds)*time.Second))
}

func isReady(c failover.Cluster) bool {
	_, ready := readySince(c)
	return ready
}

func readySince(c failover.Cluster) (time.Time, bool) {
	at := slices.IndexFunc(c.Conditions, func(x failover.Condition) bool {
		return x.Type == failover.ConditionReady && x.Status == corev1.ConditionTrue
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

// minHealthy and detection are the defaults of the terms that every story runs under.
const (
	minHealthy = 10 * time.Second
	detection  = 90 * time.Second
)

// releases judges that a hold is dropped: the new placement must be placed and healthy.
func (j *judge) releases(w world.Write, b *failover.Binding) {
	j.s.count["releases"]++
	source, there := j.s.world.Standing(w.Cluster)
	e := j.evicted[id(w.Cluster, b)]
	switch {
	case !there || e == nil || source.UID != e.source:
		return // a deleted cluster's last act
	}
	e.released = j.s.now()
	if why := unplaced(b, w.Cluster); why != "" {
		j.violates("1: the hold of %s for %s is dropped, and it is not placed: %s", w.Binding, w.Cluster, why)
	}
	if b.PurgeMode == failover.PurgeDirectly {
		j.s.count["releases of Directly"]++
		return // once placed: Karmada creates nothing before the old copy is gone
	}
	if b.PurgeMode == failover.PurgeNever {
		j.violates("1: the hold of %s for %s is dropped, and its purge mode is Never", w.Binding, w.Cluster)
	}
	if why := j.unhealthy(b, e); why != "" {
		j.violates("1: the hold of %s for %s is dropped, and it is not healthy: %s", w.Binding, w.Cluster, why)
	}
	must := minHealthy
	if since, ready := readySince(source); ready && j.s.now().Sub(since) > lease { // a late write was sent before
		must = detection
	}
	if held := j.s.now().Sub(e.at); held < must {
		j.violates("1: the hold of %s for %s is dropped after %s, before %s of health", w.Binding, w.Cluster, held, must)
	}
}

func unplaced(b *failover.Binding, failed string) string {
	sum := int32(0)
	for _, t := range b.Clusters {
		sum += t.Replicas
	}
	scheduled := b.Status.Scheduled != nil && b.Status.Scheduled.Status == corev1.ConditionTrue
	divided := b.Placement.ReplicaScheduling.Type == failover.SchedulingDivided
	switch {
	case len(b.Clusters) == 0:
		return "no target"
	case targets(b, failed):
		return "the failed cluster is a target"
	case b.Generation != b.Status.ObservedGeneration:
		return "the scheduler has not seen it"
	case !scheduled && (!divided || b.Replicas == 0 || sum != b.Replicas):
		return "not scheduled"
	}
	return ""
}

// unhealthy: every target that came or grew since the eviction must be healthy on a
// cluster that is well; where none did, every target must.
func (j *judge) unhealthy(b *failover.Binding, e *eviction) string {
	var must []failover.TargetCluster
	for _, t := range b.Clusters {
		was := slices.IndexFunc(e.clusters, func(x failover.TargetCluster) bool { return x.Name == t.Name })
		if was < 0 || e.clusters[was].Replicas < t.Replicas {
			must = append(must, t)
		}
	}
	if len(must) == 0 {
		must = b.Clusters
	}
	for _, t := range must {
		if why := j.ill(b, t); why != "" {
			return why
		}
	}
	return ""
}

// downForLong: a late write was sent while the cluster still was Ready.
func (j *judge) downForLong(c failover.Cluster) bool {
	return slices.ContainsFunc(c.Conditions, func(x failover.Condition) bool {
		return x.Type == failover.ConditionReady && x.Status != corev1.ConditionTrue && j.s.now().Sub(x.LastTransition) > lease
	})
}

// ill says why one copy proves nothing.
func (j *judge) ill(b *failover.Binding, t failover.TargetCluster) string {
	c, there := j.s.world.Standing(t.Name)
	if !there || j.downForLong(c) {
		return t.Name + " is not Ready"
	}
	if slices.ContainsFunc(c.Taints, func(x corev1.Taint) bool { return x.Effect == corev1.TaintEffectNoExecute }) {
		return t.Name + " has a failover of its own"
	}
	at := slices.IndexFunc(b.Status.Aggregated, func(x failover.AggregatedItem) bool { return x.Cluster == t.Name })
	if at < 0 || b.Status.Aggregated[at].Health != failover.HealthHealthy {
		return "the copy on " + t.Name + " is not healthy"
	}
	if ready := b.Status.Aggregated[at].ReadyReplicas; ready != nil && *ready < int64(t.Replicas) {
		return fmt.Sprintf("the copy on %s has %d of %d ready", t.Name, *ready, t.Replicas)
	}
	return ""
}

// restoreWait is the default of the terms that every story runs under.
const restoreWait = 30 * time.Second

// restores judges that a cluster is put back: the scheduler must have answered the
// eviction, or its answer on the way would undo it.
func (j *judge) restores(w world.Write, b *failover.Binding) {
	j.s.count["restores"]++
	source, there := j.s.world.Standing(w.Cluster)
	e := j.evicted[id(w.Cluster, b)]
	if !there || e == nil || source.UID != e.source || b.Status.ObservedGeneration >= e.generation {
		return // a deleted cluster's last act, or answered
	}
	now := j.s.now()
	if s := b.Status.Scheduled; s != nil && s.Status == corev1.ConditionFalse {
		since := s.LastTransition
		if !since.Before(e.at.Truncate(time.Second)) || now.Sub(e.at) >= restoreWait {
			return
		}
	}
	j.violates("2: %s is put back on %s before the scheduler has answered its eviction", w.Binding, w.Cluster)
}

// untaints judges that our taint goes: restores come first, for as long as they may take.
func (j *judge) untaints(w world.Write, after failover.Cluster) {
	if !isReady(after) || after.Stopped != nil || j.s.count["terminated"] > 0 {
		return
	}
	since := j.wellSince(w.Cluster)
	if j.s.now().Sub(since) >= wellFor+restoreWait {
		return
	}
	for _, b := range j.s.world.StandingBindings() {
		if t := held(&b, w.Cluster); t != nil && t.Reason == failover.TaskReason && len(b.Clusters) == 0 {
			j.violates("6: %s is untainted %s after it was well, and %s is not restored yet", w.Cluster, j.s.now().Sub(since), b.Key)
		}
	}
}

// wellSince is since when a cluster has been Ready.
func (j *judge) wellSince(cluster string) time.Time {
	list := j.sights[cluster]
	since := j.s.now()
	for n := len(list) - 1; n >= 0 && list[n].there && isReady(list[n].c); n-- {
		since = list[n].from
	}
	return since
}

// tainted judges a write on a cluster: others' taints stay, and nothing of ours is put
// on a cluster that is well.
func (j *judge) tainted(w world.Write, before, after failover.Cluster) {
	j.observing(w)
	others := func(c failover.Cluster) []corev1.Taint {
		return slices.DeleteFunc(slices.Clone(c.Taints), func(t corev1.Taint) bool {
			return t.Key == taintKey || t.Key == failover.EvacuatingTaintKey
		})
	}
	same := func(x, y corev1.Taint) bool { return reflect.DeepEqual(x, y) }
	if !slices.EqualFunc(others(before), others(after), same) {
		j.violates("9: others' taints on %s changed", w.Cluster)
	}
	if len(after.Added) == 0 && slices.ContainsFunc(before.Added, func(a failover.AddedTaint) bool { return a.Key == taintKey }) {
		j.untaints(w, after)
	}
	put := len(after.Added) > len(before.Added)
	if put && j.wellThroughout(w.Cluster) {
		j.violates("3: a taint is put on %s, which is well", w.Cluster)
	}
}

// wellThroughout: the cluster has been well ever since the writer read it.
func (j *judge) wellThroughout(cluster string) bool {
	list := j.sights[cluster]
	for n := len(list) - 1; n >= 0; n-- {
		foreign := slices.ContainsFunc(list[n].c.Taints, func(t corev1.Taint) bool {
			return t.Effect != corev1.TaintEffectNoSchedule && t.Key != taintKey
		})
		if !list[n].there || foreign || !isReady(list[n].c) {
			return false
		}
		if !list[n].from.After(j.readAt) {
			break
		}
	}
	return true
}
