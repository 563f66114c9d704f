package documents

// Step is what happens next in the story "documents": an act of the lab, or a command.
type Step struct {
	// Lab is what happens to the fleet or to the programs, as the story knows it; then
	// there is no command.
	Lab string
	// Run is a command as a document has it.
	Run string
	// Exit is the exit code that docs/cli.md says; every other program ends with 0.
	Exit int
	// Or is another one that is right, where what else stands in the lab decides.
	Or int
	// Says is a regular expression for what it says on either stream, with the names that
	// the documents use.
	Says string
	// Look is repeated until it says so; what is no look is run once.
	Look bool
	// Serves runs until it is told to end, which it does by itself once it says so, or is ready.
	Serves bool
}

// Exit codes, as docs/cli.md has them.
const (
	done    = 0
	usage   = 2
	missing = 3
	refused = 4
)

func lab(act string) Step        { return Step{Lab: act} }
func run(line, says string) Step { return Step{Run: line, Says: says} }

// look waits for what it says.
func look(line, says string) Step { return Step{Run: line, Says: says, Look: true} }

// serve runs a server, or what shows something again and again.
func serve(line, says string) Step { return Step{Run: line, Says: says, Serves: true} }

// no is a command that ends with another exit code than 0, and says why.
func no(line string, exit int, says string) Step { return Step{Run: line, Exit: exit, Says: says} }

// none is an order that finds nothing that it could be about.
func none(line string) Step {
	return no(line, missing, "no such failover runs|nothing|does not exist|no such")
}

// Steps are the whole story, in its order.
func Steps() []Step {
	var all []Step
	for _, chapter := range [][]Step{calm, servers, pace, nothingFails, observed, enforced, failed, stopped, drained, tainted} {
		all = append(all, chapter...)
	}
	return all
}

// calm: no cluster fails.
var calm = []Step{
	run("bin/demo --help", "sabotage"),
	run("lab knob", "statusPeriod"),
	run("export KUBECONFIG=.lab/admin.kubeconfig", ""),
	run("export KUBECONFIG=karmada.kubeconfig", ""),
	run("export TEMPORAL_ADDRESS=temporal-frontend:7233 TEMPORAL_NAMESPACE=lifeboat", ""),
	run("lifeboat", "Usage:"),
	run("lifeboat config", "Usage:"),
	run("lifeboat version", `lifeboat`),
	run("lifeboat completion bash", "complete"),
	run("kubectl lifeboat", "kubectl lifeboat"),
	run(`exec kubectl lifeboat __complete "$@"`, "member1"),
	run("lifeboat config print", "mode: enforce"),
	run("lifeboat config print --defaults", "mode: observe"),
	run("lifeboat config print --config lifeboat.yaml", "mode: enforce"),
	run("lifeboat config print --config lifeboat.yaml -o json", `"mode":`),
	run("lifeboat setup", "search attributes"),
	// Without being carried out: other stories need what they would change.
	run("lifeboat setup --retention 720h --temporal-only", "720h"),
	// Other stories leave objects there that nobody can understand: those are named.
	{Run: "lifeboat preflight --full", Or: refused, Says: "Watch everything"},
	// Who only gives orders may not act: with a program's own rights it passes.
	no("lifeboat preflight", refused, "may not"),
	run("lifeboat preflight --role worker --kubeconfig secrets/worker/kubeconfig --host-kubeconfig host.kubeconfig", "Karmada permissions"),
	run("lifeboat preflight --role controller --kubeconfig secrets/controller/kubeconfig --host-kubeconfig host.kubeconfig", "Karmada permissions"),
	run("lifeboat preflight --role worker --kubeconfig secrets/worker/kubeconfig --host-kubeconfig host.kubeconfig --set mode=enforce", "Karmada permissions"),
	run("lifeboat preflight --role controller --kubeconfig secrets/controller/kubeconfig --host-kubeconfig host.kubeconfig --set mode=enforce", "Karmada permissions"),
	run("lifeboat plan member1", `shop/cart-deployment +Deployment`),
	run("lifeboat plan member1 -o json", `"binding": ?"shop/cart-deployment"`),
	run("lifeboat plan --all", "member1"),
	no("lifeboat plan", usage, "cluster"),
	run("lifeboat explain deployment/cart -n shop", "shop/cart-deployment"),
	run("lifeboat explain deployment/cart -n shop --cluster member1", "shop/cart-deployment"),
	no("lifeboat explain", usage, "binding"),
	{Run: "lifeboat history"},
	{Run: "lifeboat history fleet"},
	look("lifeboat status", "Fleet: enforce mode, normal"),
	run("lifeboat status -o json", `"failovers"`),
	serve("lifeboat status --watch", "Fleet: enforce mode, normal"),
}

// servers are started beside those that work already.
var servers = []Step{
	serve("lifeboat-worker", ""),
	serve("lifeboat controller", ""),
	serve("lifeboat controller --mode enforce --config lifeboat.yaml", ""),
	serve("lifeboat codec --set encryption.keyFile=keys", "decrypting"),
	serve("lifeboat codec --set encryption.keyFile=keys --set codec.origins=https://temporal.example.com", "decrypting"),
	look("temporal task-queue describe --task-queue lifeboat", "poller"),
	look("kubectl get lease -A | grep lifeboat-controller", "lifeboat-controller"),
}

// pace is the fleet's, while nothing fails.
var pace = []Step{
	run(`lifeboat rate fleet 0.2 --reason "the registry is slow"`, "the rate is set"),
	run(`lifeboat rate fleet configured --reason "the registry is fast again"`, "configured"),
	run(`lifeboat pause fleet --reason "what is going on?"`, "halted"),
	look(`temporal workflow list --query "WorkflowType = 'FleetPacer' AND LifeboatPhase = 'halted'"`, "fleet-pacer"),
	run(`lifeboat resume fleet --reason "it is one cluster after all"`, "fleet"),
	run(`lifeboat pause fleet --reason "looking"`, "halted"),
	run(`lifeboat resume fleet --reason "looked, all is well"`, "fleet"),
	run(`lifeboat pause fleet --reason "what is going on?"`, "halted"),
	run(`lifeboat resume fleet --reason "the failure is real"`, "fleet"),
	run(`lifeboat pause fleet --reason "going back"`, "halted"),
	run(`lifeboat resume fleet --reason "the work is done"`, "fleet"),
}

// nothingFails: orders about a failover when there is none.
var nothingFails = []Step{
	none(`lifeboat pause member1 --reason "…"`),
	none(`lifeboat resume member1 --reason "…"`),
	none(`lifeboat cancel member1 --reason "…"`),
	none(`lifeboat snooze shop/cart-deployment --for 30m --reason "…"`),
	none(`lifeboat approve member1 --reason "…"`),
	none(`lifeboat put-back shop/cart-deployment --reason "…"`),
	no("lifeboat status member1", missing, "no failover of cluster member1"),
	no("lifeboat approve", usage, "cluster"),
	no("lifeboat cancel", usage, "cluster"),
	no("lifeboat taint", usage, "taint"),
	no("lifeboat adopt", usage, "reason"),
	no("lifeboat release", usage, "binding"),
	no("lifeboat put-back", usage, "binding"),
	no("lifeboat resume --enforce", usage, "cluster"),
}

// observed: a failover that only looks, as the quickstart has it, and is told to act.
var observed = []Step{
	lab("worker observes"),
	lab("taint member1"),
	look("lifeboat status member1", `observe mode(.|\n)*shop/cart-deployment`),
	look("lifeboat plan member1", "shop/cart-deployment"),
	lab("worker enforces"),
	run(`lifeboat resume member1 --enforce --reason "this is real"`, "member1: "),
	look("lifeboat status member1", `Evacuating(.|\n)*enforce mode(.|\n)*AwaitingApproval`),
}

// enforced: what waits for an operator, and moves once he agrees; then it comes back.
var enforced = []Step{
	run(`lifeboat pause member1 --reason "looking"`, "paused"),
	serve("lifeboat status member1 --watch", "Paused"),
	run(`lifeboat resume member1 --reason "it is real"`, "resumed"),
	run(`lifeboat pause member1 -n shop --reason "month end"`, "paused namespace shop"),
	run(`lifeboat resume member1 -n shop --reason "the books are closed"`, "resumed"),
	run(`lifeboat pause deployment/cart -n shop --reason "it moves by hand"`, "paused"),
	no(`lifeboat resume member1 --reason "looked, go on"`, refused, "still paused: shop/cart-deployment"),
	run(`lifeboat prioritise shop/cart-deployment --priority 100 --reason "it takes the money"`, "100"),
	run(`lifeboat prioritise member1 -n batch --priority -10 --reason "it can wait"`, "-10"),
	look("lifeboat explain shop/cart-deployment", "Paused"),
	run(`lifeboat approve shop/cart-deployment --reason "the team knows"`, "approved"),
	no(`lifeboat approve shop/cart-deployment --reason "late, but yes"`, refused, "nothing to approve"),
	run(`lifeboat approve member1 -n shop --reason "the team knows"`, "approved"),
	run(`lifeboat approve member1 --reason "the site is lost"`, "approved"),
	lab("resume cart"),
	look("lifeboat status member1", "AwaitingHealth"),
	look("lifeboat explain shop/cart-deployment", "NotHealthy"),
	look(`temporal workflow list --query "WorkflowType = 'ClusterFailover' AND ExecutionStatus = 'Running'"`, "cluster-failover/member1"),
	look(`temporal workflow list --query "WorkflowType = 'ClusterFailover' AND LifeboatPhase = 'Evacuating' AND ExecutionStatus = 'Running'"`, "cluster-failover/member1"),
	look(`temporal workflow list --query "LifeboatCluster = 'member1'"`, "binding-migration/member1/shop/cart-deployment"),
	look(`temporal workflow list --query "LifeboatCluster = 'member1' AND WorkflowType = 'BindingMigration' AND ExecutionStatus = 'Running'"`, "shop/cart-deployment"),
	look(`temporal workflow list --query "LifeboatBinding = 'shop/cart-deployment'"`, "binding-migration/member1/shop/cart-deployment"),
	look(`temporal workflow list --query "LifeboatReason = 'NotHealthy' AND ExecutionStatus = 'Running'"`, "shop/cart-deployment"),
	run("temporal workflow describe --workflow-id cluster-failover/member1", "cluster-failover/member1"),
	run("kubectl get resourcebinding cart-deployment -n shop -o yaml", "gracefulEvictionTasks"),
	run("kubectl annotate resourcebinding cart-deployment -n shop failover.lifeboat.dev/enabled=true", "annotated"),
	run("kubectl get resourcebinding cart-deployment -n shop -o yaml --show-managed-fields", "managedFields"),
	run("kubectl get cluster member1 -o yaml", "drill"),
	run("kubectl get clustertaintrules -o yaml", "documents"),
	run("kubectl get works -n karmada-es-member1", "(?m)^cart-"),
	run("kubectl get lease karmada-controller-manager -n karmada-system -o yaml", "holderIdentity"),
	lab("untaint member1"),
	look("lifeboat status member1", "Settling"),
	run(`lifeboat put-back shop/cart-deployment --reason "the new copy is wrong"`, "member1: "),
	look("lifeboat history member1", "Recovered(.|\n)*shop/cart-deployment +Restored"),
	run("lifeboat history member1 --limit 1", "Recovered"),
	run("lifeboat history shop/cart-deployment", "No failover is over"),
	run("lifeboat plan shop/cart-deployment", "no spec.failover.application"),
	look("lifeboat history member1 --audit /var/log/lifeboat -o json", "Restored"),
	run("lifeboat history --audit <file or folder>", "member1"),
	run("lifeboat explain shop/cart-deployment --audit /var/log/lifeboat -o json", "cart-deployment"),
	run("lifeboat explain shop/cart-deployment --audit /var/log/lifeboat", "cart-deployment"),
	run("lifeboat history fleet --audit /var/log/lifeboat", ""),
	run("lifeboat history member1 --audit /var/log/lifeboat", "member1"),
	look(`temporal workflow list --query "WorkflowType = 'ClusterFailover' AND ExecutionStatus != 'Running'"`, "cluster-failover/member1"),
}

// failed: the cluster is away, one is asked about, and one must not run twice.
var failed = []Step{
	lab("kill member1"),
	look("lifeboat status member1", "AwaitingApproval(.|\n)*AwaitingFence"),
	look("lifeboat explain shop/db-statefulset", "AwaitingFence"),
	look("lifeboat status <cluster>", "AwaitingFence"),
	look("lifeboat status <cluster> -o json", "AwaitingFence"),
	look(`temporal workflow list --query "LifeboatPhase IN ('AwaitingFence', 'AwaitingHealth', 'Placing', 'Restoring') AND ExecutionStatus = 'Running'"`, "shop/db"),
	run(`temporal workflow list --query "TemporalReportedProblems IN ('category=WorkflowTaskFailed')"`, ""),
	run("kubectl get events -A --field-selector type=Warning", ""),
	run(`temporal workflow signal --workflow-id cluster-failover/member1 --name pause --input '{"who":"you","reason":"hold it"}'`, ""),
	look("lifeboat status member1", "Paused +by you: hold it"),
	run(`lifeboat resume member1 --reason "network work is done"`, "resumed"),
	run(`lifeboat pause member1 --reason "network work"`, "paused"),
	run(`lifeboat pause member1 --reason "is this real?"`, "paused"),
	run(`lifeboat pause member1 --reason "hold it"`, "paused"),
	run(`lifeboat pause member1 --reason "the others suffer"`, "paused"),
	run(`lifeboat confirm-fenced shop/cart-deployment --cluster member1 --without-state --reason "it starts afresh"`, "recorded"),
	run(`lifeboat confirm-fenced shop/cart-deployment --cluster member1 --without-state --reason "it never ran"`, "recorded"),
	run(`lifeboat confirm-fenced statefulset/db -n shop --cluster member1 --reason "its disk is detached"`, "recorded"),
	run(`lifeboat confirm-fenced shop/db-statefulset --cluster member1 --reason "powered off, says the provider"`, "recorded"),
	run(`lifeboat confirm-fenced shop/cart-deployment --cluster member1 --without-state --reason "the disks are lost"`, "recorded"),
	run(`lifeboat confirm-fenced member1 --reason "powered off by the provider"`, "recorded"),
	run(`lifeboat confirm-fenced member1 --reason "the whole cluster is powered off, says the provider"`, "recorded"),
	// Refused while the migration that the resume above started has not returned to the queue.
	run(`lifeboat snooze shop/cart-deployment --for 30m --reason "the cluster is coming back"`, "member1: "),
	run(`lifeboat snooze member1 -n shop --for 2h --reason "month end"`, "member1: "),
	run(`lifeboat snooze member1 --for 10m --reason "the provider reboots it"`, "member1: "),
	run(`lifeboat cancel shop/cart-deployment --reason "it must stay near its disk"`, "member1: "),
	{Run: `lifeboat cancel shop/cart-deployment --put-back --reason "the new copy is wrong"`, Exit: refused, Or: missing, Says: "nothing to cancel|no such failover"},
	no(`lifeboat put-back shop/cart-deployment --reason "the cluster is well again"`, missing, "shop/cart-deployment"),
}

// stopped: cancelled, opened again, and cancelled for good.
var stopped = []Step{
	run(`lifeboat cancel member1 --reason "the cluster is fine"`, "stopping"),
	look("lifeboat status member1", "Stopped"),
	lab("keep db"),
	run(`lifeboat resume member1 --reason "it was real after all"`, "member1: "),
	look("lifeboat status member1", "attempt 2"),
	run(`lifeboat cancel member1 --put-back --reason "it was the switch"`, "stopping"),
	look("lifeboat status member1", "Stopped"),
	no(`lifeboat cancel member1 --reason "it was the switch"`, refused, "stopped already"),
	no(`lifeboat cancel member1 --reason "we move it by hand"`, refused, "stopped already"),
	no(`lifeboat cancel member1 --reason "going back"`, refused, "stopped already"),
	lab("revive member1"),
	look("lifeboat history member1", "Cancelled"),
	lab("free db"),
}

// drained: a cluster is emptied on purpose, and given back.
var drained = []Step{
	lab("nobody is asked about cart"),
	run(`lifeboat drain member1 --reason "move the shop" --selector app=shop --rate 0.2`, "member1"),
	look("lifeboat status member1", "Drained(.|\n)*AwaitingHealth"),
	run(`temporal workflow list --query "LifeboatPhase IN ('NeedsOperator', 'Kept')"`, ""),
	run(`lifeboat release shop/cart-deployment --reason "it is well, its health check is not"`, "member1: "),
	look("lifeboat explain shop/cart-deployment", "Migrated"),
	none(`lifeboat release shop/cart-deployment --reason "the new one is proven"`),
	none(`lifeboat put-back shop/cart-deployment --reason "there is nowhere to go"`),
	no(`lifeboat drain member1 --reason "new kernel" --wait`, refused, "end that first"),
	run(`lifeboat drain member1 --end --reason "drill is over"`, "member1"),
	look("lifeboat history member1", `^member1 .*Recovered .*Migrated`),
	run(`lifeboat drain member1 --reason "drill" --wait`, "member1"),
	run(`lifeboat drain member1 --reason "new kernel" --wait`, "member1"),
	run(`lifeboat drain member1 --reason "…" --wait`, "member1"),
	run(`lifeboat drain member1 --end --reason "the new kernel runs"`, "member1"),
	look("lifeboat history member1", `^member1 .*Recovered .*Migrated\n(.|\n)*^member1 .*Recovered .*Migrated`),
}

// tainted: by order, with nothing on the cluster any more that it would move.
var tainted = []Step{
	run(`lifeboat taint member1 maintenance:NoExecute --reason "the disks are replaced"`, "member1"),
	look("lifeboat status member1", "Evacuated since"),
	run(`lifeboat taint member1 degraded=network:PreferNoExecute --reason "packet loss"`, "member1"),
	run(`lifeboat adopt --reason "no controller runs"`, "owner"),
	run(`lifeboat adopt --reason "Temporal was set up again"`, "owner"),
	run(`lifeboat adopt member1 --reason "its workflow was terminated"`, "owner"),
	run(`lifeboat taint member1 degraded=network:PreferNoExecute- --reason "the network is repaired"`, "member1"),
	run(`lifeboat taint member1 --end --reason "the network is repaired"`, "member1"),
	// Nothing is left to take away; its failover may have closed for that already.
	{Run: `lifeboat taint member1 --end --reason "the network is repaired"`, Exit: refused, Or: missing, Says: "no taint|no such failover|has just ended"},
	{Run: `lifeboat taint member1 maintenance:NoExecute- --reason "the disks are new"`, Exit: refused, Or: missing, Says: "does not carry|no such failover|has just ended"},
}
