package ledger

import (
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// SeeCluster takes a cluster as it stands; gone says that it was deleted.
func (j *Journal) SeeCluster(at time.Time, c *api.Cluster, gone bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	old := j.clusters[c.Name]
	if gone {
		delete(j.clusters, c.Name)
		j.note(Entry{At: at, Kind: ClusterGone, Cluster: c.Name, Text: "deleted"})
		j.closeFailure(at, c.Name)
		return
	}
	j.clusters[c.Name] = c
	j.rule(c.Name, recorded(c))
	if old != nil {
		j.compareCluster(at, old, c)
	}
	j.follow(at, c)
}

// recorded are the taints that the cluster's annotation calls Lifeboat's.
func recorded(c *api.Cluster) []string {
	var added []struct {
		Key    string             `json:"key"`
		Effect corev1.TaintEffect `json:"effect"`
	}
	// What cannot be read names no taint; that the annotation goes is judged in any case.
	_ = json.Unmarshal([]byte(c.Annotations[annotationAddedTaints]), &added)
	names := make([]string, 0, len(added))
	for _, t := range added {
		names = append(names, taintName(corev1.Taint{Key: t.Key, Effect: t.Effect}))
	}
	return names
}

func (j *Journal) compareCluster(at time.Time, old, c *api.Cluster) {
	if old.IsReady() != c.IsReady() {
		entry := Entry{At: at, Kind: ClusterReady, Cluster: c.Name, Text: "Karmada says Ready"}
		if !c.IsReady() {
			entry.Kind, entry.Text = ClusterNotReady, "Karmada says not Ready"
			if ready := c.Ready(); ready != nil {
				entry.Text += " (" + ready.Reason + ")"
			}
		}
		j.note(entry)
	}
	for _, t := range c.Spec.Taints {
		if !hasTaint(old, t) {
			j.note(Entry{At: at, Kind: TaintAdded, Cluster: c.Name, Text: taintName(t)})
		}
	}
	for _, t := range old.Spec.Taints {
		if !hasTaint(c, t) {
			j.note(Entry{At: at, Kind: TaintRemoved, Cluster: c.Name, Text: taintName(t)})
		}
	}
}

func hasTaint(c *api.Cluster, taint corev1.Taint) bool {
	return slices.ContainsFunc(c.Spec.Taints, func(t corev1.Taint) bool { return taintName(t) == taintName(taint) })
}

// follow opens and closes the cluster's failure and finds who is affected.
func (j *Journal) follow(at time.Time, c *api.Cluster) {
	hard := hardTaints(c)
	if len(hard) == 0 {
		j.closeFailure(at, c.Name)
		return
	}
	f := j.openFailure(c.Name)
	if f == nil {
		f = &Failure{Cluster: c.Name, From: at, Affected: map[string]*Affected{}}
		j.failures = append(j.failures, f)
	}
	for _, t := range hard {
		f.Taints = union(f.Taints, []string{taintName(t)})
	}
	for _, b := range j.bindings {
		j.join(f, b.Binding)
	}
}

func hardTaints(c *api.Cluster) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(c.Spec.Taints), func(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectNoExecute })
}

func (j *Journal) openFailure(cluster string) *Failure {
	for _, f := range j.failures {
		if f.Cluster == cluster && f.To.IsZero() {
			return f
		}
	}
	return nil
}

func (j *Journal) closeFailure(at time.Time, cluster string) {
	if f := j.openFailure(cluster); f != nil {
		f.To = at
	}
}

// join adds a binding to a failure that makes it move.
func (j *Journal) join(f *Failure, b *api.Binding) {
	c := j.clusters[f.Cluster]
	if c == nil || b.Target(f.Cluster) == nil || f.Affected[string(b.UID)] != nil {
		return
	}
	optedOut := b.Annotations[annotationEnabled] == "false" || c.Annotations[annotationEnabled] == "false" || j.optedOut[b.Namespace]
	if optedOut || toleratesForEver(tolerations(b), hardTaints(c)) {
		return
	}
	f.Affected[string(b.UID)] = &Affected{Binding: nameOf(b), UID: string(b.UID), Kind: b.Spec.Resource.Kind}
}

func tolerations(b *api.Binding) []corev1.Toleration {
	if b.Spec.Placement == nil {
		return nil
	}
	return b.Spec.Placement.ClusterTolerations
}

// toleratesForEver is Karmada's arithmetic, asked for one answer only: each taint's first matching
// toleration is in use; none for a taint means at once; of those in use, one with seconds that matches
// any taint with a time means some day.
func toleratesForEver(all []corev1.Toleration, taints []corev1.Taint) bool {
	for _, taint := range taints {
		first := slices.IndexFunc(all, func(t corev1.Toleration) bool { return t.ToleratesTaint(klog.Background(), &taint, false) })
		if first < 0 {
			return false
		}
		used := all[first]
		ends := used.TolerationSeconds != nil && slices.ContainsFunc(taints, func(t corev1.Taint) bool {
			return t.TimeAdded != nil && used.ToleratesTaint(klog.Background(), &t, false)
		})
		if ends {
			return false
		}
	}
	return true
}
