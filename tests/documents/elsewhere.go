package documents

// Place is where a command is run that the story cannot run: by a test, or by whoever
// runs a target of the Makefile.
type Place struct {
	// Folder and Test name a test, below the root; Target a target of make.
	Folder, Test, Target string
	// Why it is not run by the story.
	Why string
}

func by(folder, test, why string) Place { return Place{Folder: folder, Test: test, Why: why} }

// target is one that is typed as it stands.
func target(name string) Place {
	return Place{Target: name, Why: "a target of the Makefile, which CI and people run"}
}

// Why a command is no business of the story.
const (
	ofTheHost = "wants the cluster that the pods run in; there a second kube-apiserver plays it"
	anEngine  = "wants a container engine or a registry; what it is given is read as one would"
	itself    = "runs tests, of which the story is one"
	aMember   = "asks a member's own API server, which those of the lab do not have"
	ofTheLab  = "is about the lab that the story itself runs in"
	aBuild    = "wants workers that have versions; the story builds_change_hands_in_mid_failover asks Temporal for the same by the SDK"
)

const guide = "TestQuickstart_BlockByBlock"

// Elsewhere are the commands that are run in another place than the story.
var Elsewhere = map[string]Place{
	"make build":   target("build"),
	"make bench":   target("bench"),
	"make chaos":   target("chaos"),
	"make outages": target("outages"),
	"make pace":    target("pace"),
	"make crowd":   target("crowd"),
	"make fuzz":    target("fuzz"),
	"make load":    target("load"),
	"make demo":    target("demo"),
	"make test-karmada KARMADA_SRC=<a checkout of karmada-io/karmada>": target("test-karmada"),
	"make demo KEEP=1":                 target("demo"),
	"make demo SABOTAGE=drop-task":     target("demo"),
	"make image":                       target("image"),
	"make lab-bin":                     target("lab-bin"),
	"make lint":                        target("lint"),
	"make mutants":                     target("mutants"),
	"make mutants ONLY=04-chunk":       target("mutants"),
	"make mutants SIM=no":              target("mutants"),
	"make record":                      target("record"),
	"make screenshots":                 target("screenshots"),
	"make sim":                         target("sim"),
	"make sim N=1000":                  target("sim"),
	"make sim THEME=drains N=100":      target("sim"),
	"make test":                        target("test"),
	"make test-all":                    target("test-all"),
	"make test-deploy":                 target("test-deploy"),
	"make test-image":                  target("test-image"),
	"make test-postgres":               target("test-postgres"),
	"make test-e2e":                    target("test-e2e"),
	"make upgrade":                     target("upgrade"),
	"make upgrade UPGRADE_FROM=v0.1.0": target("upgrade"),

	"temporal worker deployment describe --name lifeboat":                                         by("tests/e2e", "TestStories", aBuild),
	"temporal worker deployment set-current-version --deployment-name lifeboat --build-id v0.2.0": by("tests/e2e", "TestStories", aBuild),
	"temporal worker deployment set-current-version --deployment-name lifeboat --build-id v0.1.0": by("tests/e2e", "TestStories", aBuild),

	"go test ./...":             {Target: "lab-test", Why: itself},
	"go test ./tests/documents": by("tests/documents", "TestEveryCommandInTheDocumentsIsRunByATest", itself),
	"go test ./tests/mutants":   by("tests/mutants", "TestEveryPatchStillApplies", itself),
	"go test ./tests/replay":    by("tests/replay", "TestEveryRecordedHistoryReplays", itself),
	"go test ./tests/semantics": by("tests/semantics", "TestEveryRuleHasATestAndEveryTestARule", itself),
	"go test ./tests/sim":       by("tests/sim", "TestCorpus", itself),
	"go test ./tests/sim -run TestCorpus -story $PWD/tests/sim/testdata/<name>.story -v": by("tests/sim", "TestCorpus", itself),
	"go test ./tests/e2e -count=1 -run 'TestStories/^console$' -update":                  by("tests/e2e", "TestStories", itself),

	"skopeo copy oci-archive:bin/lifeboat-image.tar docker://registry.example.com/lifeboat:v0.1.0": by("deploy/image", "TestTheImageRunsAsNobodyAndHoldsNothingElse", anEngine),
	"podman load -i":              by("deploy/image", "TestTheImageRunsAsNobodyAndHoldsNothingElse", anEngine),
	"ctr -n k8s.io images import": by("deploy/image", "TestTheImageRunsAsNobodyAndHoldsNothingElse", anEngine),

	"lab up":                  by("tests/lab/cmd/lab", "TestALabStopsWhenItsCallerIsGone", ofTheLab),
	"lab up --detach":         by("tests/lab/cmd/lab", "TestADetachedLabRunsOnUntilDown", ofTheLab),
	"lab up --etcd-members 3": {Target: "outages", Why: ofTheLab},
	"lab up --durable":        {Target: "outages", Why: ofTheLab},
	"lab up --ledger":         {Target: "demo", Why: ofTheLab},
	"lab up -o json":          by("tests/lab/cmd/lab", "TestALabSaysWhereEverythingIsAndIsGoneAfterDown", ofTheLab),
	"lab down":                by("tests/lab/cmd/lab", "TestALabSaysWhereEverythingIsAndIsGoneAfterDown", ofTheLab),
	"lab ledger --report status.json --rate 2": {Target: "demo", Why: ofTheLab},

	"kubectl apply -f deploy/kustomize/base/namespace.yaml --kubeconfig host.kubeconfig": by("tests/deploy", guide, ofTheHost),
	"kubectl apply -f - <<EOF": by("tests/deploy", guide, ofTheHost),
	"kubectl apply -k deploy/kustomize/base --kubeconfig host.kubeconfig":                               by("tests/deploy", guide, ofTheHost),
	"kubectl apply -k deploy/kustomize/karmada/enforce":                                                 by("tests/deploy", guide, ofTheHost),
	"kubectl apply -k deploy/kustomize/karmada/fields":                                                  by("tests/deploy", guide, ofTheHost),
	"kubectl apply -k deploy/kustomize/karmada/namespace":                                               by("tests/deploy", guide, ofTheHost),
	"kubectl apply -k deploy/kustomize/karmada/observe":                                                 by("tests/deploy", guide, ofTheHost),
	"kubectl delete -k deploy/kustomize/base --kubeconfig host.kubeconfig":                              by("tests/deploy", guide, ofTheHost),
	"kubectl delete -k deploy/kustomize/karmada/enforce":                                                by("tests/deploy", guide, ofTheHost),
	"kubectl delete -k deploy/kustomize/karmada/fields":                                                 by("tests/deploy", guide, ofTheHost),
	"kubectl delete crd clustertaintrules.failover.lifeboat.dev":                                        by("tests/deploy", guide, ofTheHost),
	"kubectl edit deployment karmada-controller-manager -n karmada-system --kubeconfig host.kubeconfig": by("tests/deploy", guide, ofTheHost),
	`for program in controller worker; do mkdir -p secrets/$program kubectl create token lifeboat-$program -n lifeboat-system --duration=720h > secrets/$program/token kubectl config view --minify --flatten > secrets/$program/kubeconfig kubectl config unset users --kubeconfig secrets/$program/kubeconfig kubectl config set users.lifeboat.tokenFile token --kubeconfig secrets/$program/kubeconfig kubectl config set-context --current --user=lifeboat --kubeconfig secrets/$program/kubeconfig kubectl create secret generic lifeboat-$program-karmada -n lifeboat-system --from-file=secrets/$program --dry-run=client -o yaml | kubectl apply -f - --kubeconfig host.kubeconfig done`: by("tests/deploy", guide, ofTheHost),
	"sed -i 's/^mode: observe/mode: enforce/' deploy/kustomize/base/lifeboat.yaml": by("tests/deploy", guide, ofTheHost),
	"sed -i 's/^mode: enforce/mode: observe/' deploy/kustomize/base/lifeboat.yaml": by("tests/deploy", guide, ofTheHost),

	"helm install lifeboat deploy/helm/lifeboat -n lifeboat-system --kubeconfig host.kubeconfig --set image.repository=registry.example.com/lifeboat,image.tag=v0.1.0,temporal.address=temporal-frontend.temporal.svc:7233": by("tests/deploy", "TestTheChartIsTheBase", ofTheHost),
	"helm install lifeboat-roles deploy/helm/lifeboat -n lifeboat-system --kubeconfig karmada.kubeconfig --set install.pods=false,install.karmadaRoles=true":                                                                by("tests/deploy", "TestTheRolesAreThoseOfTheFolder", ofTheHost),

	`jq -r 'select(.kind == "BindingOutcome") | [.time, .cluster, .outcome, .reason, .bindings[]?] | @tsv' audit.jsonl`: by("internal/audit", "TestTheSchemaIsTheOneThatIsDocumented",
		"wants jq, which need not be here; the fields that it names are those of the schema"),
	"karmadactl describe deployment cart -n shop --operation-scope members --cluster member2": by("internal/view", "TestEveryCommandOfAPageCanBeTyped", aMember),
	"karmadactl get pods -n shop --operation-scope members --clusters member2":                by("internal/view", "TestEveryCommandOfAPageCanBeTyped", aMember),
	"karmadactl taint": by("tests/e2e", "TestStories", "is named beside lifeboat taint, not typed"),
	"karmadactl taint clusters member3 maintenance:NoExecute":  by("tests/e2e", "TestStories", "is an act of the story console"),
	"karmadactl taint clusters member3 maintenance:NoExecute-": by("tests/e2e", "TestStories", "is an act of the story console"),
}
