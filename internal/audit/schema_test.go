package audit_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/stretchr/testify/require"
)

// section is the first column of the table below a heading of docs/audit.md.
func section(t *testing.T, heading string) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/audit.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(page), "\n## "+heading+"\n")
	require.True(t, found, heading)
	after, _, _ = strings.Cut(after, "\n## ")
	var first []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(after, -1) {
		first = append(first, m[1])
	}
	return first
}

// The page and the code name the same fields and kinds, in the same order, under the
// same version.
//
// Rules: R4.16-3.
func TestTheSchemaIsTheOneThatIsDocumented(t *testing.T) {
	var fields []string
	entry := reflect.TypeFor[record.Audit]()
	for n := range entry.NumField() {
		name, _, _ := strings.Cut(entry.Field(n).Tag.Get("json"), ",")
		fields = append(fields, name)
	}
	require.Equal(t, fields, section(t, "Fields"))
	var kinds []string
	for _, k := range record.Kinds() {
		kinds = append(kinds, string(k))
	}
	require.Equal(t, kinds, section(t, "Kinds"))
	page, err := os.ReadFile("../../docs/audit.md")
	require.NoError(t, err)
	require.Contains(t, string(page), "`"+record.Version+"`")
}
