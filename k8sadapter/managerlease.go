package k8sadapter

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ManagerLease reads the leader Lease of karmada-controller-manager.
type ManagerLease struct {
	Client          *Client
	Namespace, Name string
}

// ManagerLease implements activities.ManagerReader.
func (l ManagerLease) ManagerLease(ctx context.Context) (proof.ManagerLease, error) {
	raw, err := l.Client.do(ctx, request{verb: "get", resource: leaseResource, namespace: l.Namespace, name: l.Name})
	if err != nil {
		return proof.ManagerLease{}, err
	}
	var wire struct {
		Spec struct {
			Holder   string           `json:"holderIdentity"`
			Acquired metav1.MicroTime `json:"acquireTime"`
			Renewed  metav1.MicroTime `json:"renewTime"`
			Seconds  int32            `json:"leaseDurationSeconds"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return proof.ManagerLease{}, fmt.Errorf("read Lease %s/%s: %w: %w", l.Namespace, l.Name, karmada.ErrInvalid, err)
	}
	return proof.ManagerLease{
		Holder: wire.Spec.Holder, Acquired: wire.Spec.Acquired.Time, Renewed: wire.Spec.Renewed.Time,
		Duration: time.Duration(wire.Spec.Seconds) * time.Second,
	}, nil
}
