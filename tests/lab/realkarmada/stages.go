package realkarmada

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	"github.com/lifeboat-failover/lifeboat/tests/lab/manifests"
)

// stages is the file that says how kwok plays nodes and pods.
func (c *ControlPlane) stages() string { return filepath.Join(c.o.Dir, "kwok-stages.yaml") }

// writeStages writes kwok's own fast stages, in which a pod gets ready when its annotation says.
func (c *ControlPlane) writeStages() error {
	all, err := manifests.Load([]string{filepath.Join(c.o.Bin, "manifests", "kwok")})
	if err != nil {
		return err
	}
	var documents []string
	for _, stage := range all {
		if stage.GetName() == "pod-ready" {
			delay := map[string]any{"durationMilliseconds": int64(0), "durationFrom": map[string]any{
				"expressionFrom": fmt.Sprintf(".metadata.annotations[%q]", api.FaultReadyAfter),
			}}
			if err := unstructured.SetNestedMap(stage.Object, delay, "spec", "delay"); err != nil {
				return err
			}
		}
		document, err := yaml.Marshal(stage.Object)
		if err != nil {
			return err
		}
		documents = append(documents, string(document))
	}
	return os.WriteFile(c.stages(), []byte(strings.Join(documents, "---\n")), 0o600)
}
