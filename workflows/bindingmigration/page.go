package bindingmigration

import (
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"go.temporal.io/sdk/workflow"
)

// page shows where this migration stands.
func (m *migration) page() {
	v := m.st.View(workflow.Now(m.ctx))
	v.Message, v.MustHold = m.withRefusal(), max(m.mustHold, v.MustHold)
	if m.ordered() {
		v.Ordered = m.cause()
	}
	workflow.SetCurrentDetails(m.ctx, view.MigrationPage(v))
}
