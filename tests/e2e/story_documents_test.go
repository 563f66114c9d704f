package e2e

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/documents"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// documentsStory runs every command that a document says to type, on real servers and in
// situations that they are for, and holds how each ends against the table of
// tests/documents.
//
// It guards the documents: what an operator types from them does what they say, or says
// clearly why not, with the exit code of docs/cli.md.
//
// Rules: R4.15-14, R4.15-24.
func documentsStory(s *scene) {
	d := newDesk(s)
	defer func() { s.mode = "enforce" }()
	s.with("approval.selector=ask=yes", "audit.sink=file", "audit.path="+filepath.Join(d.trail, "audit.jsonl"))
	d.world()
	for _, step := range documents.Steps() {
		if step.Lab != "" {
			d.act(step.Lab)
			continue
		}
		d.run(step)
	}
}

// world is what the documents' examples name: a cart that is asked about and does not
// become healthy elsewhere, a database that must never run twice, and a batch that waits.
func (d *desk) world() {
	s := d.scene
	s.create(taintRule("documents", "Ready", time.Second, time.Second, s.all()...))
	home, other := s.c(1), s.c(2)
	ns := s.namespace()

	cart := deployment(ns, "cart", home, 2, bearing(oneOf(home, other), maintenance, time.Hour))
	cart.SetName("cart-deployment")
	cart.SetAnnotations(map[string]string{faultStuckReadyAt: other + "=1", templateLabels: `{"app":"` + ns + `","ask":"yes"}`})

	db := s.single("db", home, bearing(oneOf(home, other), "drill", time.Hour))
	db.SetName("db-statefulset")

	s.createNamespace("batch")
	labels := object{"app": "karmada-controller-manager"}
	s.exists(deployments, "karmada-system", object{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": "karmada-controller-manager"},
		"spec": object{"selector": object{"matchLabels": labels}, "template": object{
			"metadata": object{"labels": labels},
			"spec": object{"containers": []any{object{"name": "karmada-controller-manager", "image": "karmada-controller-manager:v1.15.0", "command": []any{
				"/bin/karmada-controller-manager", "--feature-gates=Failover=false", "--enable-taint-manager=false",
				"--enable-no-execute-taint-eviction=false", "--controllers=*,-gracefulEviction,-applicationFailover,-clustertaintpolicy",
			}}}},
		}},
	})
	night := oneOf(home, other)
	night["clusterTolerations"] = []any{object{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": int64(3600)}}
	s.run(cart, db, deployment("batch", "night", home, 1, night))
}

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

// exists puts an object that the lab itself does nothing with.
func (s *scene) exists(resource schema.GroupVersionResource, namespace string, u object) {
	_, err := s.api.Resource(resource).Namespace(namespace).Create(s.ctx, &unstructured.Unstructured{Object: u}, metav1.CreateOptions{})
	require.NoError(s, err)
}

// bearing tolerates an operator's taint for so long.
func bearing(placement object, key string, d time.Duration) object {
	placement["clusterTolerations"] = []any{object{
		"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": int64(d / time.Second),
	}}
	return placement
}

// act is what happens to the fleet, or to the programs, between two commands.
func (d *desk) act(what string) {
	s := d.scene
	cart := s.namespace() + "/cart-deployment"
	verb, about, _ := strings.Cut(what, " ")
	about = d.real(about)
	switch {
	case verb == "worker": // observes, enforces
		require.NoError(s, s.worker.stop())
		s.mode = strings.TrimSuffix(about, "s")
		require.NoError(s, s.startWorker(s.ctx))
	case what == "resume cart":
		s.order("resume", cart, "--cluster", s.c(1))
	case verb == "taint", verb == "untaint":
		s.taintByHand(about, "drill", "NoExecute", verb == "taint")
	case verb == "kill":
		s.kill(about)
	case verb == "revive":
		s.revive(about)
	case what == "nobody is asked about cart":
		s.annotate(cart, templateLabels, `{"app":"`+s.namespace()+`"}`)
	case what == "keep db":
		s.annotate(s.namespace()+"/db-statefulset", prefix+"enabled", "false")
	case what == "free db":
		s.annotate(s.namespace()+"/db-statefulset", prefix+"enabled", "")
	default:
		require.Fail(s, "no such act of the lab", what)
	}
}

// desk is where an operator sits: a folder with the files that the documents name, and
// the programs in the PATH.
type desk struct {
	*scene
	folder, trail string
	env           []string
}

func newDesk(s *scene) *desk {
	d := &desk{scene: s, folder: filepath.Join(s.folder, "desk")}
	d.trail = filepath.Join(d.folder, "trail")
	require.NoError(s, os.MkdirAll(d.trail, 0o750))
	for name, kubeconfig := range map[string]string{
		"karmada.kubeconfig": s.lab.At.Kubeconfigs["operator"], "secrets/worker/kubeconfig": s.lab.At.Kubeconfigs["worker"],
		"secrets/controller/kubeconfig": s.lab.At.Kubeconfigs["controller"], "setup.kubeconfig": s.lab.At.Kubeconfigs["setup"],
		"host.kubeconfig": s.lab.At.Kubeconfig,
	} {
		raw, err := os.ReadFile(kubeconfig)
		require.NoError(s, err)
		file := filepath.Join(d.folder, name)
		require.NoError(s, os.MkdirAll(filepath.Dir(file), 0o750))
		require.NoError(s, os.WriteFile(file, raw, 0o600))
	}
	require.NoError(s, os.WriteFile(filepath.Join(d.folder, "lifeboat.yaml"), []byte("mode: enforce\n"), 0o600))
	key := "first " + base64.StdEncoding.EncodeToString(make([]byte, 32)) + "\n"
	require.NoError(s, os.WriteFile(filepath.Join(d.folder, "keys"), []byte(key), 0o600))
	programs, err := filepath.Abs(bin)
	require.NoError(s, err)
	require.NoError(s, os.Symlink(filepath.Join(programs, "lifeboat"), filepath.Join(d.folder, "kubectl-lifeboat")))
	require.NoError(s, os.Symlink(programs, filepath.Join(d.folder, "bin")))
	require.NoError(s, os.Symlink(s.lab.At.Dir, filepath.Join(d.folder, ".lab")))
	d.env = append(s.environment(), "PATH="+d.folder+":"+programs+":"+os.Getenv("PATH"), "USER=jane", "LIFEBOAT_MODE=enforce")
	d.env = append(d.env, settingsAsVariables()...)
	return d
}
