package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// world is the lab with the product on it.
type world struct {
	folder     string
	lab        *laboratory
	api        dynamic.Interface // as administrator
	temporal   temporal
	chronicle  *chronicle
	audit      *auditLog
	beside     []*auditLog // those of the labs beside the shared one
	gate       *gate
	controller *process
	worker     *process
	mode       string   // of controller and worker
	built      string   // folder of the programs; empty: those of this version
	more       []string // settings of the story that is told
	env        []string // and its environment
	wires      *wires   // between the product and its servers while one is cut; nil: none
	cells      int      // of the crash matrix that were played here
	profiles   string   // where the worker serves profiles; it is measured then, and has no gate before it
	// secure reaches the product's own endpoints by TLS, nil by none.
	secure *http.Client
	end    context.CancelFunc
}

// The product's clocks, quick enough for a test. Stories hold it to them.
const (
	minHealthy = 2 * time.Second
	detection  = 8 * time.Second
	// stops is the time within which a halt or a pause takes full effect.
	stops = 4 * time.Second
	// outlasts is how long a release that waits for detection comes at least after the copy was seen to run. It is
	// less than detection, for the watch may see that late, and more than minHealthy.
	outlasts = detection / 2
)

var settings = []string{
	"pace.evictionRate=unlimited",
	"health.minHealthy=" + minHealthy.String(), "health.detection=" + detection.String(), "health.pollInterval=5s",
	"recovery.restoreWait=10s", "applicationFailover.enabled=true",
	"workflow.pollInterval=5s", "workflow.askAgain=4s", "workflow.recheck=2s", "workflow.relist=10s", "workflow.pendingPurgeWait=1m",
	"externalProbe.interval=1s", "externalProbe.timeout=1s", "externalProbe.failureThreshold=2", "externalProbe.successThreshold=1",
	"controller.resyncInterval=5s", "controller.coalesce=1s", "controller.leaderElection.leaseDuration=15s",
	"controller.leaderElection.renewDeadline=10s", "controller.leaderElection.retryPeriod=500ms",
	"log.level=debug",
}

func startWorld(ctx context.Context, folder string, members []member, flags ...string) (*world, error) {
	ctx, end := context.WithCancel(ctx)
	w := &world{folder: folder, end: end}
	begun := time.Now()
	if err := w.start(ctx, members, flags); err != nil {
		return nil, errors.Join(err, w.stop())
	}
	say("the lab and Lifeboat are up after %s", time.Since(begun).Round(time.Millisecond))
	return w, nil
}

func say(format string, args ...any) {
	//nolint:errcheck // there is nobody to tell when stdout is closed
	fmt.Fprintf(os.Stdout, "stories: "+format+"\n", args...)
}

func (w *world) start(ctx context.Context, members []member, flags []string) error {
	var err error
	if w.lab, err = startLab(ctx, w.folder, members, flags); err != nil {
		return err
	}
	if w.audit, err = newAuditLog(w.lab.At.AuditLog, roles); err != nil {
		return err
	}
	if w.api, err = apiAs(w.lab.At.Kubeconfig); err != nil {
		return err
	}
	if w.temporal, err = dialTemporal(ctx, w.lab.At); err != nil {
		return err
	}
	if err := w.lifeboat("setup", w.lab.At.Kubeconfigs["setup"]).Run(); err != nil {
		return fmt.Errorf("lifeboat setup: %w; it said:\n%s", err, tail(w.logFile("setup"), 40))
	}
	if err := w.chronicles(ctx); err != nil {
		return err
	}
	if w.gate, err = openGate(w.lab.At.Kubeconfigs["worker"]); err != nil {
		return err
	}
	return w.inMode(ctx, "enforce")
}

// chronicles begins a chronicle, from what stands now.
func (w *world) chronicles(ctx context.Context) error {
	w.chronicle = newChronicle(w.api)
	followed := []schema.GroupVersionResource{resourceBindings, clusterResourceBindings, clusters, works}
	if *benched > 0 {
		followed = []schema.GroupVersionResource{resourceBindings, clusters} // the benchmark reads no others
	}
	for _, resource := range followed {
		if err := w.chronicle.follow(ctx, resource); err != nil {
			return err
		}
	}
	return nil
}

// apiAs is the API server as somebody may use it.
func apiAs(kubeconfig string) (dynamic.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return dynamic.NewForConfig(config)
}

// inMode sees to it that controller and worker run in a mode.
func (w *world) inMode(ctx context.Context, mode string) error {
	if w.mode != mode {
		if err := w.stopProduct(); err != nil {
			return err
		}
	}
	w.mode = mode
	if w.worker == nil {
		if err := w.startWorker(ctx); err != nil {
			return err
		}
	}
	if w.controller == nil {
		return w.startController(ctx)
	}
	return nil
}

func (w *world) stopProduct() error {
	var errs []error
	for _, p := range []*process{w.controller, w.worker} {
		if p != nil {
			errs = append(errs, p.stop())
		}
	}
	w.controller, w.worker = nil, nil
	return errors.Join(errs...)
}

func (w *world) logFile(name string) string { return filepath.Join(w.folder, name+".log") }

// lifeboat prepares a run of the CLI that logs to a file of its verb's name.
func (w *world) lifeboat(verb, kubeconfig string, more ...string) *exec.Cmd {
	program, err := binary("lifeboat")
	args := append([]string{verb, "--kubeconfig", kubeconfig}, more...)
	cmd := exec.Command(program, args...) //nolint:gosec,noctx // Lifeboat's own program, it ends by itself
	cmd.Err = errors.Join(cmd.Err, err)
	cmd.Env = w.environment()
	if log, err := os.OpenFile(w.logFile(verb), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err == nil {
		cmd.Stdout, cmd.Stderr = log, log
	}
	return cmd
}

// environment is this one's, with the lab's Temporal in it.
func (w *world) environment() []string {
	own := []string{"TEMPORAL_ADDRESS=" + w.lab.At.TemporalAddress, "TEMPORAL_NAMESPACE=" + w.lab.At.TemporalNamespace}
	return slices.Concat(os.Environ(), own, w.env)
}

func (w *world) startController(ctx context.Context) error {
	var err error
	kubeconfig := w.lab.At.Kubeconfigs["controller"]
	if w.wires != nil {
		kubeconfig = w.wires.kubeconfigs["controller"]
	}
	w.controller, err = w.serve(ctx, "lifeboat", "controller", kubeconfig, "controller", "--mode", w.mode)
	return err
}

// startWorker starts a worker behind the gate, or behind the wires.
func (w *world) startWorker(ctx context.Context) error {
	if w.wires != nil {
		var err error
		w.worker, err = w.serve(ctx, "lifeboat-worker", "worker", w.wires.kubeconfigs["worker"], "--mode", w.mode)
		return err
	}
	if w.profiles != "" {
		var err error
		w.worker, err = w.serve(ctx, "lifeboat-worker", "worker", w.lab.At.Kubeconfigs["worker"], "--mode", w.mode, "--pprof", w.profiles)
		return err
	}
	kubeconfig := filepath.Join(w.folder, "worker.kubeconfig")
	if err := w.gate.kubeconfig(w.lab.At.Kubeconfigs["worker"], kubeconfig); err != nil {
		return err
	}
	var err error
	w.worker, err = w.serve(ctx, "lifeboat-worker", "worker", kubeconfig, "--mode", w.mode)
	return err
}

// programs are the product's servers that run, by what they are called among users.
func (w *world) programs() map[string]*process {
	return map[string]*process{"worker": w.worker, "controller": w.controller}
}

// serve starts one of the product's servers and returns when it is ready.
func (w *world) serve(ctx context.Context, program, name, kubeconfig string, args ...string) (*process, error) {
	path, err := binary(program)
	if w.built != "" {
		path = filepath.Join(w.built, program)
	} else if err != nil {
		return nil, err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	args = append(args, "--kubeconfig", kubeconfig, "--set", "listen.address="+address)
	for _, setting := range append(slices.Clone(settings), w.more...) {
		args = append(args, "--set", setting)
	}
	cmd := exec.Command(path, args...) //nolint:gosec,noctx // Lifeboat's own program, stopped in order
	cmd.Env = w.environment()
	if w.wires != nil && w.wires.temporal[name] != nil {
		cmd.Env = append(cmd.Env, "TEMPORAL_ADDRESS="+w.wires.temporal[name].address())
	}
	p, err := launch(name, w.logFile(name), cmd)
	if err != nil {
		return nil, err
	}
	by := http.DefaultClient
	p.url = "http://" + address
	if w.secure != nil {
		by, p.url = w.secure, "https://"+address
	}
	return p, p.ready(ctx, by, p.url+"/readyz")
}

// stop ends everything that was started, the last first.
func (w *world) stop() error {
	errs := []error{w.stopProduct()}
	if w.gate != nil {
		w.gate.close()
	}
	w.end()
	if w.temporal.Client != nil {
		w.temporal.Close()
	}
	if w.lab != nil {
		errs = append(errs, w.lab.close())
	}
	return errors.Join(errs...)
}
