package view_test

import (
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
)

// variations are pages that differ from another page in some lines. Their golden file has
// only those lines: "-" is a line of the other page, "+" a line of this one.
var variations = map[string]string{
	"failover-evacuating-after-a-halt": "failover-evacuating",
	"failover-evacuating-halted":       "failover-evacuating",
	"failover-evacuating-ordered":      "failover-evacuating",
	"failover-evacuating-paused":       "failover-evacuating",
	"failover-evacuating-slow":         "failover-evacuating",
	"failover-evacuating-unproven":     "failover-evacuating",
	"migration-awaiting-fence":         "migration-awaiting-health",
	"migration-healthy":                "migration-awaiting-health",
	"migration-no-fit":                 "migration-awaiting-health",
	"migration-old-copy-going":         "migration-awaiting-health",
	"migration-restoring":              "migration-awaiting-health",
	"migration-migrated":               "migration-awaiting-health",
	"migration-abandoned":              "migration-awaiting-health",
	"failover-observe":                 "failover-suspected",
	"failover-stopped":                 "failover-suspected",
	"failover-recovered":               "failover-suspected",
	"failover-recovering-attempt-2":    "failover-suspected",
	"pacer-all-faulty":                 "pacer-flowing",
	"pacer-all-paused":                 "pacer-flowing",
	"pacer-configured-zero":            "pacer-flowing",
	"pacer-done":                       "pacer-flowing",
	"pacer-halted":                     "pacer-flowing",
	"pacer-idle":                       "pacer-flowing",
	"pacer-new":                        "pacer-flowing",
	"pacer-slow":                       "pacer-flowing",
	"pacer-state-lost":                 "pacer-flowing",
	"pacer-unlimited":                  "pacer-flowing",
	"pacer-waiting":                    "pacer-flowing",
}

// goldenPages compares each page with its golden file, or with the differences from its base.
func goldenPages(t *testing.T, pages map[string]string) {
	t.Helper()
	for name, page := range pages {
		t.Run(name, func(t *testing.T) {
			if base, varies := variations[name]; varies {
				fixtures.Golden(t, "testdata/pages/"+name+".diff", differences(pages[base], page))
				return
			}
			fixtures.Golden(t, "testdata/pages/"+name+".page", page)
		})
	}
}

// rendered are the pages of some views, by name.
func rendered[V any](prefix string, views map[string]V, page func(V) string) map[string]string {
	out := map[string]string{}
	for name, view := range views {
		out[prefix+name] = page(view)
	}
	return out
}

// differences lists the lines that only one of two texts has, in order. Common lines are
// those of their longest common subsequence.
func differences(from, to string) string {
	a, b := strings.Split(from, "\n"), strings.Split(to, "\n")
	common := make([][]int, len(a)+1) // of a[i:] and b[j:]
	common[len(a)] = make([]int, len(b)+1)
	for i := len(a) - 1; i >= 0; i-- {
		common[i] = make([]int, len(b)+1)
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var out strings.Builder
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out.WriteString("-" + a[i] + "\n")
			i++
		default:
			out.WriteString("+" + b[j] + "\n")
			j++
		}
	}
	return out.String()
}
