package deploy

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/contrib/envconfig"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// rendering is one way in which Lifeboat is deployed.
type rendering struct {
	objects
	mode rules.Mode
}

// renderings are all that the repository offers.
func renderings(t *testing.T) map[string]rendering {
	return map[string]rendering{
		"base":    {kustomized(t, "base"), rules.ModeObserve},
		"example": {kustomized(t, "overlays/enforce"), rules.ModeEnforce},
		"chart":   {rendered(t, ""), rules.ModeObserve},
	}
}

func typed[T any](t *testing.T, all objects, name string) T {
	require.Contains(t, all, name)
	var result T
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(all[name].Object, &result, true))
	return result
}

// pod is one program's template and what is mounted into it.
type pod struct {
	appsv1.Deployment
	container corev1.Container
	files     map[string]string // by mount path, as far as ConfigMaps have them
}

func podOf(t *testing.T, all objects, program string) pod {
	p := pod{Deployment: typed[appsv1.Deployment](t, all, "Deployment/lifeboat-"+program), files: map[string]string{}}
	require.Len(t, p.Spec.Template.Spec.Containers, 1)
	p.container = p.Spec.Template.Spec.Containers[0]
	for _, mount := range p.container.VolumeMounts {
		for _, volume := range p.Spec.Template.Spec.Volumes {
			if volume.Name == mount.Name && volume.ConfigMap != nil {
				for name, content := range typed[corev1.ConfigMap](t, all, "ConfigMap/"+volume.ConfigMap.Name).Data {
					p.files[mount.MountPath+"/"+name] = content
				}
			}
		}
	}
	return p
}

func (p pod) env(name string) string {
	for _, variable := range p.container.Env {
		if variable.Name == name {
			return variable.Value
		}
	}
	return ""
}

// configuration is what the program makes of what is mounted.
func (p pod) configuration(t *testing.T) config.Config {
	content, ok := p.files[p.env(config.FileVariable)]
	require.True(t, ok, "%s names no mounted file", config.FileVariable)
	file := filepath.Join(t.TempDir(), "lifeboat.yaml")
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	c, err := config.Load(config.Sources{File: file})
	require.NoError(t, err)
	return c
}

func eachPod(t *testing.T, do func(*testing.T, rendering, pod)) {
	for name, r := range renderings(t) {
		for _, program := range []string{"controller", "worker"} {
			t.Run(name+"/"+program, func(t *testing.T) { do(t, r, podOf(t, r.objects, program)) })
		}
	}
}

func TestTheProgramsTakeTheConfigurationThatIsMounted(t *testing.T) {
	eachPod(t, func(t *testing.T, r rendering, p pod) {
		require.Equal(t, r.mode, p.configuration(t).Mode)
	})
}

func TestTemporalsConfigurationIsRead(t *testing.T) {
	for _, name := range []string{"base", "chart"} {
		p := podOf(t, renderings(t)[name].objects, "worker")
		content, ok := p.files[p.env("TEMPORAL_CONFIG_FILE")]
		require.True(t, ok)
		options, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{
			ConfigFileData: []byte(content), ConfigFileStrict: true, EnvLookup: nothing{},
		})
		require.NoError(t, err)
		require.Equal(t, "temporal-frontend.temporal.svc:7233", options.HostPort)
		require.Equal(t, "lifeboat", options.Namespace)
	}
}

// nothing is an empty environment.
type nothing struct{}

func (nothing) Environ() []string               { return nil }
func (nothing) LookupEnv(string) (string, bool) { return "", false }

// probes of a container that has all three.
func probes(t *testing.T, c corev1.Container) map[string]*corev1.Probe {
	all := map[string]*corev1.Probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe, "readiness": c.ReadinessProbe}
	for name, probe := range all {
		require.NotNil(t, probe, name)
		require.NotNil(t, probe.HTTPGet, name)
	}
	return all
}

// A program whose world is away is alive and not ready: it must not be killed for it.
func TestProbesAskWhatTheProgramsServe(t *testing.T) {
	away := telemetry.Check{Name: "temporal", Run: func(context.Context) error { return http.ErrServerClosed }}
	server := (&telemetry.Server{Registry: telemetry.NewRegistry("lifeboat-worker", ""), Ready: []telemetry.Check{away}}).Handler()
	eachPod(t, func(t *testing.T, _ rendering, p pod) {
		_, port, _ := strings.Cut(p.configuration(t).Listen.Address, ":")
		require.Len(t, p.container.Ports, 1)
		require.Equal(t, port, strconv.Itoa(int(p.container.Ports[0].ContainerPort)))
		for name, probe := range probes(t, p.container) {
			require.Equal(t, p.container.Ports[0].Name, probe.HTTPGet.Port.StrVal, name)
			answer := httptest.NewRecorder()
			server.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, probe.HTTPGet.Path, nil))
			want := http.StatusOK
			if name == "readiness" {
				want = http.StatusServiceUnavailable
			}
			require.Equal(t, want, answer.Code, "%s: %s", name, probe.HTTPGet.Path)
		}
	})
}

// A worker that is told to stop has the time that its configuration promises.
func TestThereIsTimeToStop(t *testing.T) {
	eachPod(t, func(t *testing.T, _ rendering, p pod) {
		grace := time.Duration(*p.Spec.Template.Spec.TerminationGracePeriodSeconds) * time.Second
		c := p.configuration(t)
		last := 10 * time.Second // answers to probes, closing of connections
		require.GreaterOrEqual(t, grace, c.StopTimeout+last)
		require.GreaterOrEqual(t, grace, c.Controller.LeaderElection.RenewDeadline+last)
	})
}

func TestOneOfSeveralMayGoAtATime(t *testing.T) {
	eachPod(t, func(t *testing.T, r rendering, p pod) {
		require.GreaterOrEqual(t, *p.Spec.Replicas, int32(2))
		budget := typed[policyv1.PodDisruptionBudget](t, r.objects, "PodDisruptionBudget/"+p.Name)
		require.Equal(t, 1, budget.Spec.MaxUnavailable.IntValue())
		for _, selector := range []*metav1.LabelSelector{
			budget.Spec.Selector, p.Spec.Selector, p.Spec.Template.Spec.TopologySpreadConstraints[0].LabelSelector,
		} {
			s, err := metav1.LabelSelectorAsSelector(selector)
			require.NoError(t, err)
			require.True(t, s.Matches(labels.Set(p.Spec.Template.Labels)))
			other := podOf(t, r.objects, map[string]string{"lifeboat-controller": "worker", "lifeboat-worker": "controller"}[p.Name])
			require.False(t, s.Matches(labels.Set(other.Spec.Template.Labels)), "it takes the other program's pods as well")
		}
	})
}

// The pods ask nothing of the cluster that they run in.
func TestNoTokenOfTheHostIsMounted(t *testing.T) {
	eachPod(t, func(t *testing.T, r rendering, p pod) {
		require.False(t, *p.Spec.Template.Spec.AutomountServiceAccountToken)
		account := typed[corev1.ServiceAccount](t, r.objects, "ServiceAccount/"+p.Spec.Template.Spec.ServiceAccountName)
		require.False(t, *account.AutomountServiceAccountToken)
		for name := range r.objects {
			require.NotContains(t, name, "Role", "a right in the wrong API server")
		}
	})
}

// A change of the configuration changes the pod template, so that pods roll.
func TestAnotherConfigurationRollsThePods(t *testing.T) {
	before, after := podOf(t, rendered(t, ""), "worker"), podOf(t, rendered(t, "config: {taskQueue: other}"), "worker")
	require.NotEqual(t, before.Spec.Template.Annotations, after.Spec.Template.Annotations)
	require.Equal(t, "other", after.configuration(t).TaskQueue)
	base, overlay := podOf(t, kustomized(t, "base"), "worker"), podOf(t, kustomized(t, "overlays/enforce"), "worker")
	require.NotEqual(t, volume(base, "config"), volume(overlay, "config"))
}

func volume(p pod, name string) string {
	for _, v := range p.Spec.Template.Spec.Volumes {
		if v.Name == name && v.ConfigMap != nil {
			return v.ConfigMap.Name
		}
	}
	return ""
}
