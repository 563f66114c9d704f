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

// auditor keeps what this migration did until a report has taken it along: Acts and ActSeq are its own.
type auditor struct{ *core }

// acted keeps what this migration did, or what was ordered of it, for the next report:
// its ClusterFailover writes it into the audit trail with everything else. Evidence comes
// in pairs of a name and what it says; what says nothing is left out.
func (au *auditor) acted(kind record.Kind, r record.Audit, evidence ...string) {
	if !au.st.Terms.Audit {
		return
	}
	au.st.ActSeq++
	r.Kind, r.ID, r.Time = kind, au.trailID()+"/"+strconv.FormatInt(au.st.ActSeq, 10), workflow.Now(au.ctx)
	r.Resource = au.st.Resource
	r.Evidence = flow.AddEvidence(r.Evidence, evidence...)
	au.st.Acts = append(au.st.Acts, r)
	if extra := len(au.st.Acts) - maxActs; extra > 0 {
		au.st.Acts = slices.Delete(au.st.Acts, 0, extra)
		au.lost(extra)
	}
}

// trailID is what the ids of this migration's records begin with.
func (au *auditor) trailID() string {
	info := workflow.GetInfo(au.ctx)
	return cmp.Or(info.FirstRunID, info.WorkflowExecution.RunID)
}

func (au *auditor) lost(n int) {
	workflow.GetMetricsHandler(au.ctx).Counter("lifeboat_audit_lost").Inc(int64(n))
	au.log.Error("audit records are lost: nobody has taken them for too long", "records", n)
}

// orderedBy keeps an operator's order to this one migration.
func (au *auditor) orderedBy(verb string, o workflows.Order, details ...string) {
	au.acted(record.AuditOrderGiven, record.Audit{Order: verb, Who: o.Who, Why: o.Reason}, append(details, "scope", au.st.Ref.Key.String())...)
}

// dropReported drops the records that a report has taken along.
func (au *auditor) dropReported(acts []record.Audit) {
	au.st.Acts = slices.DeleteFunc(au.st.Acts, func(r record.Audit) bool {
		return slices.ContainsFunc(acts, func(x record.Audit) bool { return x.ID == r.ID })
	})
}

// lastActs writes down what no ClusterFailover has taken, within a moment.
func (au *auditor) lastActs() {
	if len(au.st.Acts) == 0 {
		return
	}
	info := workflow.GetInfo(au.ctx)
	request := activities.AuditRequest{
		Source: activities.AuditSource{
			Instance: au.instance, Cluster: au.st.Ref.Cluster, FailoverID: au.st.FailoverID, Mode: au.st.Ref.Mode,
			Workflow: info.WorkflowExecution.ID, Run: info.WorkflowExecution.RunID, First: au.trailID(),
		},
		Records: slices.Clone(au.st.Acts),
	}
	for n := range request.Records {
		request.Records[n].Bindings, request.Records[n].Attempt = flow.About(au.st.Ref.Key), au.st.Attempt
	}
	ctx := workflow.WithActivityOptions(au.ctx, workflow.ActivityOptions{
		ScheduleToCloseTimeout: 3 * flow.LastRecords, StartToCloseTimeout: flow.LastRecords,
		Summary:     reason.Summary("append what " + au.st.Parent + " has not taken to the audit trail"),
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second},
	})
	if err := workflow.ExecuteActivity(ctx, activities.NameRecordAudit, request).Get(ctx, nil); err != nil {
		au.lost(len(au.st.Acts))
	}
	au.st.Acts = nil
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

// auditEvicted records an eviction that stands, with the clusters that the binding had.
func (au *auditor) auditEvicted() {
	old := ""
	if w := au.st.OldWork; w != nil {
		old = w.Namespace + "/" + w.Name + " " + string(w.UID)
	}
	permit := ""
	if au.st.Permit.Number > 0 {
		permit = strconv.FormatInt(au.st.Permit.Number, 10)
	}
	r := record.Audit{Reason: au.st.Reason, Message: au.st.Message}
	if au.st.Adopts() {
		r.Message = "found standing, and taken over"
	}
	au.acted(record.AuditBindingEvicted, r, "permit", permit, "from", places(au.st.Ref.Baseline.Clusters), "oldWork", old, "taint", taintOf(au.st.Why))
}

func taintOf(d rules.Due) string {
	if d.Taint.Key == "" {
		return ""
	}
	return d.Taint.Key + ":" + string(d.Taint.Effect)
}

// auditReleased records that a hold was dropped, and what proved the new copy.
func (au *auditor) auditReleased(r activities.ReleaseRequest) {
	var proof []string
	for _, p := range r.Proofs {
		proof = append(proof, p.Plugin+": "+p.Message)
	}
	held := ""
	if r.HealthyFor > 0 {
		held = r.HealthyFor.String()
	}
	au.acted(record.AuditBindingReleased, record.Audit{Reason: au.st.Reason, Message: au.st.Message, To: au.st.To},
		"healthyFor", held, "proof", strings.Join(proof, "; "), "banned", flow.Yes(au.st.Banned))
}

// auditHeld records that the dependents are held.
func (au *auditor) auditHeld() {
	if len(au.st.Dependents.Keys) == 0 {
		return
	}
	var names []string
	for _, d := range au.st.Dependents.Keys {
		names = append(names, d.String())
	}
	au.acted(record.AuditBindingHeld, record.Audit{Message: "its dependents are held first"}, "dependents", reason.Summary(strings.Join(names, ", ")))
}

// auditFenced records that a plug-in proves the old copy dead, once for the same message: a plug-in
// whose proof is void is asked again and again.
func (au *auditor) auditFenced(plugin, message string) {
	if f := au.st.Ref.Fence; f == nil || f.By != plugin || f.Message != message {
		au.acted(record.AuditBindingFenced, record.Audit{Message: message}, "plugin", plugin)
	}
}
