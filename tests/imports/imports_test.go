package imports

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	root   = "../.."
	module = "github.com/lifeboat-failover/lifeboat"
)

// judging are the packages of the pure core, each named for the question that it answers.
var judging = []string{
	"internal/karmada", "internal/pace", "internal/phase", "internal/placement", "internal/proof", "internal/queue", "internal/reason",
	"internal/record", "internal/rules",
}

// within is the whole table: a folder of the product, and which others of this
// module its code and its tests may import. A folder may always import what lies
// below itself; what is not listed here may not exist.
var within = map[string][]string{
	"internal/reason":            {},
	"internal/karmada":           {"internal/reason"},
	"internal/pace":              {"internal/reason"},
	"internal/phase":             {},
	"internal/rules":             {"internal/karmada", "internal/reason"},
	"internal/placement":         {"internal/karmada", "internal/reason", "internal/rules"},
	"internal/proof":             {"internal/karmada", "internal/placement", "internal/reason", "internal/rules"},
	"internal/queue":             {"internal/karmada", "internal/pace", "internal/placement", "internal/proof", "internal/reason", "internal/rules"},
	"internal/record":            {"internal/karmada", "internal/phase", "internal/proof", "internal/queue", "internal/reason", "internal/rules"},
	"internal/view":              judging,
	"internal/telemetry":         judging,
	"internal/audit":             judging,
	"config":                     judging,
	"internal/secrecy":           {},
	"internal/process":           beside("activities", "config", "internal/secrecy", "internal/telemetry", "k8sadapter"),
	"activities":                 beside("internal/telemetry", "internal/view"),
	"workflows":                  beside("activities", "internal/view"),
	"workflows/flow":             beside("activities", "workflows"),
	"workflows/clusterfailover":  beside("activities", "internal/view", "workflows"),
	"workflows/bindingmigration": beside("activities", "internal/view", "workflows"),
	"workflows/fleetpacer":       beside("activities", "internal/view", "workflows"),
	"workflows/registry":         {"workflows"},
	"k8sadapter":                 beside("activities"),
	"controller":                 {"activities", "config", "internal", "k8sadapter", "workflows"},
	"worker":                     {"activities", "config", "internal", "k8sadapter", "workflows"},
	// Tests of the whole drive processes; they may speak Lifeboat's words, never the lab's.
	// The simulator has the controller's own router decide whom to tell.
	"tests": {"activities", "config", "internal", "k8sadapter", "controller/watch", "workflows"},
}

// beside are the pure core and other folders.
func beside(others ...string) []string { return slices.Concat(judging, others) }

// helping is the folder that tests alone import: fakes and fixtures.
const helping = "tests"

// impure are the parts of the standard library that act, look or roll dice.
var impure = []string{"database", "log", "math/rand", "net", "os", "plugin", "runtime", "syscall", "testing", "unsafe"}

// file is one Go file and what it imports.
type file struct {
	path    string // below the root
	test    bool
	imports []string
}

func (f file) folder() string { return path.Dir(f.path) }

// below tells whether a path is the folder or lies in it.
func below(p, folder string) bool { return p == folder || strings.HasPrefix(p, folder+"/") }

func belowAny(p string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return below(p, f) })
}

// meeting is the one place that may import both sides, to hold them against each
// other; nothing imports it.
const meeting = "tests/compare"

// files reads every Go file below a folder, the lab and hidden or built ones left out.
func files(t *testing.T, start string, skip ...string) []file {
	t.Helper()
	var found []file
	err := filepath.WalkDir(filepath.Join(root, start), func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		hidden := strings.HasPrefix(entry.Name(), ".") && relative != "."
		if entry.IsDir() && (hidden || entry.Name() == "testdata" || slices.Contains(skip, relative)) {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		found = append(found, read(t, name, relative))
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, found)
	return found
}

func read(t *testing.T, name, relative string) file {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	require.NoError(t, err)
	f := file{path: relative, test: strings.HasSuffix(name, "_test.go")}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		f.imports = append(f.imports, imported)
	}
	return f
}

func product(t *testing.T) []file {
	t.Helper()
	return files(t, ".", "bin", "deploy", "tests/lab", "tests/monitoring", "tests/tools", meeting)
}

// owner is the entry of the table that a folder belongs to.
func owner(folder string) string {
	best := ""
	for candidate := range within {
		if below(folder, candidate) && len(candidate) > len(best) {
			best = candidate
		}
	}
	return best
}

func TestTheTableOfImportsHolds(t *testing.T) {
	for _, f := range product(t) {
		self := owner(f.folder())
		if self == "" {
			t.Errorf("%s: its folder is not in the table of who may import whom", f.path)
			continue
		}
		for _, imported := range f.imports {
			own, isOwn := strings.CutPrefix(imported, module+"/")
			helped := f.test && below(own, helping)
			if isOwn && !below(own, self) && !belowAny(own, within[self]) && !helped {
				t.Errorf("%s imports %s: %s may import %v of this module", f.path, own, self, within[self])
			}
		}
	}
}

// The root of workflows is the contract: it knows no workflow, and no workflow knows another.
func TestNoWorkflowImportsAnother(t *testing.T) {
	shared := map[string]bool{"workflows": true, "workflows/flow": true}
	for _, f := range files(t, "workflows", "workflows/registry") {
		for _, imported := range f.imports {
			own, isOwn := strings.CutPrefix(imported, module+"/")
			outside := f.test && f.folder() == "workflows" // its tests play all of them together
			if isOwn && below(own, "workflows") && !shared[own] && !outside {
				t.Errorf("%s imports %s", f.path, own)
			}
		}
	}
}

// What else the core may import is said in .golangci.yml, which cannot deny all that lies below a package of the
// standard library.
func TestTheCoreIsPure(t *testing.T) {
	for _, f := range product(t) {
		if f.test || !belowAny(f.folder(), beside("internal/view")) {
			continue
		}
		for _, imported := range f.imports {
			assert.False(t, belowAny(imported, impure), "%s imports %s: the core neither acts nor looks", f.path, imported)
		}
	}
}

// What a test alone needs is no code of the product.
func TestOnlyTestsImportTesting(t *testing.T) {
	for _, f := range product(t) {
		if !f.test && !below(f.folder(), helping) {
			assert.NotContains(t, f.imports, "testing", "%s: helpers of tests lie below %s", f.path, helping)
		}
	}
}

func TestNoKubernetesClientReachesWorkflowsByAnyWay(t *testing.T) {
	for _, pkg := range beside("activities", "workflows", "config") {
		var stderr bytes.Buffer
		command := exec.CommandContext(t.Context(), "go", "list", "-deps", "./"+pkg)
		command.Dir, command.Stderr = root, &stderr
		out, err := command.Output()
		require.NoError(t, err, stderr.String())
		deps := strings.Fields(string(out))
		require.Contains(t, deps, module+"/"+pkg)
		for _, dep := range deps {
			if below(dep, "k8s.io/client-go") || below(dep, module+"/k8sadapter") {
				t.Errorf("%s depends on %s", pkg, dep)
			}
		}
	}
}

func TestTheLabSharesNoCodeWithTheProduct(t *testing.T) {
	for _, f := range files(t, "tests/lab") {
		for _, imported := range f.imports {
			if below(imported, module) && !below(imported, module+"/tests/lab") {
				t.Errorf("%s imports %s: the lab would agree with itself", f.path, imported)
			}
		}
	}
	for _, f := range product(t) {
		for _, imported := range f.imports {
			if below(imported, module+"/tests/lab") {
				t.Errorf("%s imports %s: the lab is driven as a process", f.path, imported)
			}
		}
	}
}

func TestTheComparisonMeetsBothAndNobodyImportsIt(t *testing.T) {
	met := map[string]bool{}
	for _, f := range files(t, meeting) {
		for _, imported := range f.imports {
			met[imported] = true
		}
	}
	require.True(t, met[module+"/internal/placement"] && met[module+"/tests/lab/karmada/scheduling"], "it compares nothing: %v", met)
	for _, f := range append(product(t), files(t, "tests/lab")...) {
		for _, imported := range f.imports {
			require.False(t, below(imported, module+"/"+meeting), "%s imports %s", f.path, imported)
		}
	}
}
