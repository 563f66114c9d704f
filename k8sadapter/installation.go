package k8sadapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// served are the groups that Lifeboat reads, each with one resource that stands for it.
var served = []schema.GroupVersionResource{
	{Group: groupCluster, Version: "v1alpha1", Resource: "clusters"},
	{Group: groupWork, Version: "v1alpha2", Resource: "resourcebindings"},
	{Group: groupWork, Version: "v1alpha2", Resource: "clusterresourcebindings"},
	{Group: groupWork, Version: "v1alpha1", Resource: "works"},
	{Group: groupPolicy, Version: "v1alpha1", Resource: "propagationpolicies"},
	{Group: RuleGroup, Version: "v1alpha1", Resource: "clustertaintrules"},
}

// installation asks what an API server defines, allows and runs.
type installation struct{ *requester }

// Undefined names the resources that Lifeboat needs and the API server does not serve.
func (c *installation) Undefined(ctx context.Context) ([]string, error) {
	var missing []string
	known := map[string][]string{}
	for _, r := range served {
		version := r.GroupVersion().String()
		if _, asked := known[version]; !asked {
			names, err := c.resources(ctx, version)
			if err != nil {
				return nil, err
			}
			known[version] = names
		}
		if !slices.Contains(known[version], r.Resource) {
			missing = append(missing, r.GroupResource().String())
		}
	}
	return missing, nil
}

// resources are the names that one group and version serves; none when there is no such group.
func (c *installation) resources(ctx context.Context, version string) ([]string, error) {
	raw, err := c.document(ctx, "/apis/"+version)
	if errors.Is(err, karmada.ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("read the resources of %s: %w", version, err)
	}
	names := make([]string, 0, len(list.APIResources))
	for _, r := range list.APIResources {
		names = append(names, r.Name)
	}
	return names, nil
}

// document reads what the API server says of itself; every user may.
func (c *installation) document(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	raw, err := c.rest.Get().MaxRetries(0).AbsPath(path).Do(ctx).Raw()
	if err != nil {
		return nil, classify(request{verb: "get", resource: schema.GroupVersionResource{Resource: path}}, err, 0)
	}
	return raw, nil
}

// PurgeModes are those that Karmada's definition of an eviction task knows; they tell
// its version. None when the definition does not say.
func (c *installation) PurgeModes(ctx context.Context) ([]string, error) {
	raw, err := c.document(ctx, "/openapi/v3/apis/"+groupWork+"/v1alpha2")
	if err != nil {
		return nil, err
	}
	type task struct {
		Properties struct {
			PurgeMode struct {
				Enum []string `json:"enum"`
			} `json:"purgeMode"`
		} `json:"properties"`
	}
	var all struct {
		Components struct {
			Schemas map[string]struct {
				Properties struct {
					Spec struct {
						Properties struct {
							Tasks struct {
								Items task `json:"items"`
							} `json:"gracefulEvictionTasks"`
						} `json:"properties"`
					} `json:"spec"`
				} `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("read Karmada's definition of a ResourceBinding: %w", err)
	}
	for name, definition := range all.Components.Schemas {
		if strings.HasSuffix(name, ".ResourceBinding") {
			return definition.Properties.Spec.Properties.Tasks.Items.Properties.PurgeMode.Enum, nil
		}
	}
	return nil, nil
}

// ClusterTaintPolicies are the names of Karmada's own rules; none where it has no such
// definition.
func (c *installation) ClusterTaintPolicies(ctx context.Context) ([]string, error) {
	resource := schema.GroupVersionResource{Group: groupPolicy, Version: "v1alpha1", Resource: "clustertaintpolicies"}
	names, err := listAll(ctx, c.requester, resource, func(raw []byte) string {
		var wire struct {
			Metadata metaWire `json:"metadata"`
		}
		_ = json.Unmarshal(raw, &wire) // one that cannot be read still stands
		return wire.Metadata.Name
	})
	if errors.Is(err, karmada.ErrGone) {
		return nil, nil
	}
	return names, err
}

// ControllerManagerFlags are the command and arguments of a Deployment's containers:
// how karmada-controller-manager runs, read where it runs.
func (c *installation) ControllerManagerFlags(ctx context.Context, namespace, name string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	d, err := c.typed.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, classify(request{verb: "get", resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, name: name}, err, 0)
	}
	var flags []string
	for _, container := range d.Spec.Template.Spec.Containers {
		flags = slices.Concat(flags, container.Command, container.Args)
	}
	return flags, nil
}
