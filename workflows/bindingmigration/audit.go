package bindingmigration

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// maxActs bounds what a migration keeps for a ClusterFailover that does not run.
const maxActs = 100

// acted keeps what this migration did, or what was ordered of it, for the next report:
// its ClusterFailover writes it into the audit trail with everything else. Evidence comes
// in pairs of a name and what it says; what says nothing is left out.
func (m *migration) acted(kind record.Kind, r record.Audit, evidence ...string) {
	if !m.st.Terms.Audit {
		return
	}
	m.st.ActSeq++
	r.Kind, r.ID, r.Time = kind, m.trailID()+"/"+strconv.FormatInt(m.st.ActSeq, 10), workflow.Now(m.ctx)
	r.Resource = m.st.Resource
	r.Evidence = flow.AddEvidence(r.Evidence, evidence...)
	m.st.Acts = append(m.st.Acts, r)
	if extra := len(m.st.Acts) - maxActs; extra > 0 {
		m.st.Acts = slices.Delete(m.st.Acts, 0, extra)
		m.lost(extra)
	}
}

// trailID is what the ids of this migration's records begin with.
func (m *migration) trailID() string {
	info := workflow.GetInfo(m.ctx)
	return cmp.Or(info.FirstRunID, info.WorkflowExecution.RunID)
}

func (m *migration) lost(n int) {
	workflow.GetMetricsHandler(m.ctx).Counter("lifeboat_audit_lost").Inc(int64(n))
	m.log.Error("audit records are lost: nobody has taken them for too long", "records", n)
}

// orderedBy keeps a human's order to this one migration.
func (m *migration) orderedBy(verb string, o workflows.Order, details ...string) {
	m.acted(record.AuditOrderGiven, record.Audit{Order: verb, Who: o.Who, Why: o.Reason}, append(details, "scope", m.st.Ref.Key.String())...)
}

// told drops what a report has taken along.
func (m *migration) told(acts []record.Audit) {
	m.st.Acts = slices.DeleteFunc(m.st.Acts, func(r record.Audit) bool {
		return slices.ContainsFunc(acts, func(x record.Audit) bool { return x.ID == r.ID })
	})
}

// lastActs writes down what no ClusterFailover has taken, within a moment.
func (m *migration) lastActs() {
	if len(m.st.Acts) == 0 {
		return
	}
	info := workflow.GetInfo(m.ctx)
	request := activities.AuditRequest{
		Source: activities.AuditSource{
			Instance: m.instance, Cluster: m.st.Ref.Cluster, FailoverID: m.st.FailoverID, Mode: m.st.Ref.Mode,
			Workflow: info.WorkflowExecution.ID, Run: info.WorkflowExecution.RunID, First: m.trailID(),
		},
		Records: slices.Clone(m.st.Acts),
	}
	for n := range request.Records {
		request.Records[n].Bindings, request.Records[n].Attempt = flow.About(m.st.Ref.Key), m.st.Attempt
	}
	ctx := workflow.WithActivityOptions(m.ctx, workflow.ActivityOptions{
		ScheduleToCloseTimeout: 3 * flow.LastRecords, StartToCloseTimeout: flow.LastRecords,
		Summary:     reason.Summary("append what " + m.st.Parent + " has not taken to the audit trail"),
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second},
	})
	if err := workflow.ExecuteActivity(ctx, activities.NameRecordAudit, request).Get(ctx, nil); err != nil {
		m.lost(len(m.st.Acts))
	}
	m.st.Acts = nil
}

// places is "member1 (2 replicas), member2", as evidence.
func places(on []karmada.TargetCluster) string {
	var out []string
	for _, t := range on {
		name := t.Name
		if t.Replicas > 0 {
			name += fmt.Sprintf(" (%d replicas)", t.Replicas)
		}
		out = append(out, name)
	}
	return strings.Join(out, ", ")
}

// auditEvicted tells of an eviction that stands, with where it was and what it left.
func (m *migration) auditEvicted() {
	old := ""
	if w := m.st.OldWork; w != nil {
		old = w.Namespace + "/" + w.Name + " " + string(w.UID)
	}
	permit := ""
	if m.st.Permit.Number > 0 {
		permit = strconv.FormatInt(m.st.Permit.Number, 10)
	}
	r := record.Audit{Reason: m.st.Reason, Message: m.st.Message}
	if m.st.Adopt {
		r.Message = "found standing, and taken over"
	}
	m.acted(record.AuditBindingEvicted, r, "permit", permit, "from", places(m.st.Ref.Baseline.Clusters), "oldWork", old, "taint", taintOf(m.st.Why))
}

func taintOf(d rules.Due) string {
	if d.Taint.Key == "" {
		return ""
	}
	return d.Taint.Key + ":" + string(d.Taint.Effect)
}

// auditReleased tells of a hold that was dropped, and what proved the new copy.
func (m *migration) auditReleased(r activities.ReleaseRequest) {
	var proof []string
	for _, p := range r.Proofs {
		proof = append(proof, p.Plugin+": "+p.Message)
	}
	held := ""
	if r.HealthyFor > 0 {
		held = r.HealthyFor.String()
	}
	m.acted(record.AuditBindingReleased, record.Audit{Reason: m.st.Reason, Message: m.st.Message, To: m.st.To},
		"healthyFor", held, "proof", strings.Join(proof, "; "), "banned", flow.Yes(m.st.Banned))
}

// auditHeld tells that the dependents are held.
func (m *migration) auditHeld() {
	if len(m.st.Dependents) == 0 {
		return
	}
	var names []string
	for _, d := range m.st.Dependents {
		names = append(names, d.String())
	}
	m.acted(record.AuditBindingHeld, record.Audit{Message: "its dependents are held first"}, "dependents", reason.Summary(strings.Join(names, ", ")))
}

// auditFenced tells that a plug-in proves the old copy dead, once for the same words: one
// that is found void is asked again and again.
func (m *migration) auditFenced(plugin, message string) {
	if f := m.st.Ref.Fence; f == nil || f.By != plugin || f.Message != message {
		m.acted(record.AuditBindingFenced, record.Audit{Message: message}, "plugin", plugin)
	}
}
