package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/lab/server"
	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// logFile has what the lab itself says, beside the logs of its servers.
const logFile = "lab.log"

// upOptions are the flags of `lab up`.
type upOptions struct {
	dir         string
	binDir      string
	karmada     string
	members     int
	membersFile string
	knobs       []string
	grants      []string
	namespace   string
	output      string
	database    string
	noUI        bool
	durable     bool
	etcdMembers int
	auditReads  bool
	keep        bool
	detach      bool
	watchStdin  bool
	ledger      bool
}

func newUpCommand(dir *string) *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a lab and run it until Ctrl-C",
		Long: `Start a lab and run it until Ctrl-C or SIGTERM; then every server is stopped
and the lab's folder removed. With -o json one line on stdout says where
everything is as soon as all of it is ready; progress goes to stderr.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.dir = *dir
			if o.output != "" && o.output != "json" {
				return fmt.Errorf("unknown output %q: want json", o.output)
			}
			if o.database != "sqlite" && o.database != server.Postgres {
				return fmt.Errorf("unknown --temporal-database %q: want sqlite or %s", o.database, server.Postgres)
			}
			if o.detach {
				return detach(cmd.Context(), o, cmd.OutOrStdout())
			}
			return up(cmd.Context(), o, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.binDir, "bin", "", "folder of etcd, kube-apiserver and temporal-dev (default: where lab is)")
	flags.StringVar(&o.karmada, "karmada", "", "folder of a real Karmada's binaries (tests/lab/build-karmada.sh); without it Karmada is simulated")
	flags.IntVar(&o.members, "members", 6, "number of member clusters, member1 to memberN")
	flags.StringVar(&o.membersFile, "members-file", "", "YAML list of member clusters, instead of --members")
	flags.StringArrayVar(&o.knobs, "knob", nil, "name=value, e.g. statusPeriod=1s (repeatable; `lab knob` lists them)")
	flags.StringArrayVar(&o.grants, "grant", nil, "YAML file or folder of manifests to apply before anything else, e.g. RBAC (repeatable)")
	flags.StringVar(&o.namespace, "temporal-namespace", "lifeboat", "Temporal namespace to create")
	flags.StringVar(&o.database, "temporal-database", "sqlite", "where Temporal keeps its state: sqlite, or postgres, a PostgreSQL server of the lab's own")
	flags.StringVarP(&o.output, "output", "o", "", "json: one line that says where everything is")
	flags.BoolVar(&o.noUI, "no-ui", false, "leave Temporal's web UI out")
	flags.BoolVar(&o.durable, "durable", false, "wait for the disk: etcd and PostgreSQL with fsync, SQLite on a file")
	flags.IntVar(&o.etcdMembers, "etcd-members", 1, "how many members etcd has, e.g. 3")
	flags.BoolVar(&o.auditReads, "audit-reads", false, "also record get, list and watch of who is not an administrator in the audit log")
	flags.BoolVar(&o.ledger, "ledger", false, "keep an account of what happens, for `lab ledger`")
	flags.BoolVar(&o.keep, "keep", false, "leave the folder with its logs behind when stopped")
	flags.BoolVar(&o.detach, "detach", false, "return when everything is ready and leave the lab running")
	flags.BoolVar(&o.watchStdin, "watch-stdin", false, "also stop when stdin ends: for a caller that may be killed")
	return cmd
}

// up runs a lab in a folder of its own until ctx ends or one of its servers dies.
func up(ctx context.Context, o upOptions, stdout io.Writer) error {
	folder, err := claimFolder(o.dir)
	if err != nil {
		return err
	}
	if o.watchStdin {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
	}
	err = runIn(ctx, folder.path, o, stdout)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil
	}
	if o.keep || err != nil {
		return errors.Join(err, folder.release())
	}
	return folder.remove()
}

// runIn starts a lab in dir, says where everything is, waits and stops it.
func runIn(ctx context.Context, dir string, o upOptions, stdout io.Writer) (err error) {
	log, err := os.Create(filepath.Join(dir, logFile))
	if err != nil {
		return fmt.Errorf("create log: %w", err)
	}
	defer log.Close()
	logger := slog.New(slog.NewTextHandler(io.MultiWriter(os.Stderr, log), nil))

	l, err := startLab(ctx, dir, o, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.stop()) }()
	if err := announce(stdout, o.output, l.state); err != nil {
		return err
	}
	select {
	case err := <-l.servers.Died():
		logger.Error("stopping, because a server died", "error", err)
		return err
	case <-ctx.Done():
		logger.Info("stopping")
		return nil
	}
}

// announce tells the caller that the lab is ready and where everything is.
func announce(w io.Writer, output string, s state) error {
	if output == "json" {
		return json.NewEncoder(w).Encode(s)
	}
	_, err := fmt.Fprintf(w, `The lab is up in %s with %d member clusters.
  Kubernetes API  %s   (export KUBECONFIG=%s)
  Temporal        %s, namespace %s
  Temporal UI     %s
  audit log       %s
  control         %s   (lab status, kill, revive, join, leave, knob, down)
`, s.Dir, len(s.Members), s.APIServer, s.Kubeconfig, s.TemporalAddress, s.TemporalNamespace,
		orNone(s.UIURL), s.AuditLog, s.ControlURL)
	return err
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

// memberSpecs returns the members that the flags ask for.
func (o upOptions) memberSpecs() ([]karmada.MemberSpec, error) {
	if o.membersFile != "" {
		return loadMembers(o.membersFile)
	}
	if o.members < 0 {
		return nil, fmt.Errorf("--members must not be negative, got %d", o.members)
	}
	return defaultMembers(o.members), nil
}

// binaries returns the folder of the servers' binaries.
func (o upOptions) binaries() (string, error) {
	if o.binDir != "" {
		return filepath.Abs(o.binDir)
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the folder of the servers: %w", err)
	}
	return filepath.Dir(self), nil
}

// mergeKnobs returns knobs with the given ones changed. An unknown name or a
// value of the wrong type changes nothing and says which names there are.
func mergeKnobs(knobs karmada.Knobs, changes map[string]any) (karmada.Knobs, error) {
	all, err := knobMap(knobs)
	if err != nil {
		return knobs, err
	}
	for name, value := range changes {
		if _, known := all[name]; !known {
			return knobs, fmt.Errorf("no knob is called %q; there are: %s", name, strings.Join(slices.Sorted(maps.Keys(all)), ", "))
		}
		all[name] = value
	}
	merged, err := json.Marshal(all)
	if err != nil {
		return knobs, fmt.Errorf("encode knobs: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(merged))
	decoder.DisallowUnknownFields()
	var result karmada.Knobs
	if err := decoder.Decode(&result); err != nil {
		return knobs, fmt.Errorf("set knobs: %w", err)
	}
	return result, nil
}

func knobMap(knobs karmada.Knobs) (map[string]any, error) {
	encoded, err := json.Marshal(knobs)
	if err != nil {
		return nil, fmt.Errorf("encode knobs: %w", err)
	}
	var all map[string]any
	if err := json.Unmarshal(encoded, &all); err != nil {
		return nil, fmt.Errorf("decode knobs: %w", err)
	}
	return all, nil
}

// parseKnobs turns name=value arguments into changes. A value that is JSON is
// taken as such (true, 3), anything else as text (2s).
func parseKnobs(args []string) (map[string]any, error) {
	changes := make(map[string]any, len(args))
	for _, arg := range args {
		name, text, found := strings.Cut(arg, "=")
		if !found || name == "" {
			return nil, fmt.Errorf("want name=value, got %q", arg)
		}
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			value = text
		}
		changes[name] = value
	}
	return changes, nil
}

// regions over which default members are spread, so that placements by region
// have something to choose from.
var regions = []string{"north", "south", "west"}

// defaultMembers returns member1 to memberN.
func defaultMembers(n int) []karmada.MemberSpec {
	members := make([]karmada.MemberSpec, n)
	for i := range members {
		region := regions[i%len(regions)]
		members[i] = karmada.MemberSpec{
			Name:     fmt.Sprintf("member%d", i+1),
			Region:   region,
			Zone:     fmt.Sprintf("%s-%d", region, i/len(regions)+1),
			Provider: "lab",
		}
	}
	return members
}

// loadMembers reads a YAML or JSON list of members.
func loadMembers(file string) ([]karmada.MemberSpec, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read members: %w", err)
	}
	var members []karmada.MemberSpec
	if err := yaml.UnmarshalStrict(content, &members); err != nil {
		return nil, fmt.Errorf("decode members in %s: %w", file, err)
	}
	for i, member := range members {
		if member.Name == "" {
			return nil, fmt.Errorf("member %d in %s has no name", i+1, file)
		}
	}
	return members, nil
}
