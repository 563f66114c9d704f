package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	"github.com/lifeboat-failover/lifeboat/tests/lab/ledger"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// healthy is a cluster that nothing is wrong with but one application.
	healthy = "member4"
	// application is what never becomes ready there, and tolerates that for so many seconds.
	application      = "shop/reviews-deployment"
	applicationLasts = 5
)

// secondAct: one application is Unhealthy on a healthy cluster, and leaves it alone.
func (d *demo) secondAct(ctx context.Context) error {
	d.heading("2. One application is Unhealthy on " + healthy + ", which is well, and leaves it")
	var members []any
	for _, m := range d.lab.Members[3:] {
		members = append(members, m.Name)
	}
	u := single("shop", "reviews", "Deployment", 2, members)
	u.SetAnnotations(map[string]string{api.FaultNeverReadyOn: healthy})
	u.Object["spec"].(map[string]any)["failover"] = map[string]any{"application": map[string]any{
		"purgeMode": "Gracefully", "decisionConditions": map[string]any{"tolerationSeconds": int64(applicationLasts)},
	}}
	d.story.known[healthy+" "+application] = subject{kind: "Deployment", cause: fmt.Sprintf("Unhealthy for %d s, as long as it tolerates", applicationLasts)}
	if err := karmada.Load(ctx, d.plane.config, []unstructured.Unstructured{u}); err != nil {
		return err
	}
	d.tell(time.Now(), "✗", red, "the demo deploys "+application+", whose pods never become ready on "+healthy)
	moved := func() bool { return d.story.times(ledger.Released, healthy+" "+application) > 0 }
	if err := d.until(ctx, "the move of "+application, patience, moved); err != nil {
		return err
	}
	id := "application-failover/" + application
	d.print("         " + d.in(dim, "↳ "+d.lab.UIURL+"/namespaces/"+d.lab.TemporalNamespace+"/workflows/"+strings.ReplaceAll(id, "/", "%2F")))
	return nil
}
