package realkarmada

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	"github.com/lifeboat-failover/lifeboat/tests/lab/server"
)

// member is one member cluster: four processes.
type member struct {
	spec       karmada.MemberSpec
	url        string
	kubeconfig string
	config     *rest.Config
	client     kubernetes.Interface
	copies     *copies
	alive      bool
}

func apiServerOf(name string) string { return name + "-apiserver" }

func processesOf(name string) []string {
	return []string{name + "-kwok", name + "-scheduler", name + "-controllers", apiServerOf(name)}
}

// startMember starts a member's processes and its one node; Karmada does not know it yet.
func (c *ControlPlane) startMember(ctx context.Context, spec karmada.MemberSpec) error {
	c.mu.Lock()
	if c.members[spec.Name] != nil {
		c.mu.Unlock()
		return fmt.Errorf("there is a member %q already", spec.Name)
	}
	m := &member{spec: spec, alive: true}
	c.members[spec.Name] = m
	c.joined++
	prefix := fmt.Sprintf("/members/%s-%d", spec.Name, c.joined)
	c.mu.Unlock()
	err := c.startProcesses(ctx, m, prefix)
	if err != nil {
		c.forget(spec.Name)
		return errors.Join(err, c.o.Servers.Drop(processesOf(spec.Name)...))
	}
	return nil
}

func (c *ControlPlane) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.members, name)
}

func (c *ControlPlane) startProcesses(ctx context.Context, m *member, prefix string) error {
	name := m.spec.Name
	_, err := c.o.Servers.Add(ctx, server.Child{
		Name: apiServerOf(name), Binary: c.o.KubeAPIServer, Ports: 1,
		Args: func(ports []int) []string { return c.apiServerFlags(prefix, ports[0]) },
		Ready: func(ctx context.Context, ports []int) error {
			if err := c.point(m, ports[0]); err != nil {
				return err
			}
			return m.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
		},
	})
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.Go(func() error { return c.startMemberControllers(ctx, m) })
	group.Go(func() error { return again(ctx, func() error { return m.addNode(ctx) }) })
	if err := group.Wait(); err != nil {
		return err
	}
	m.copies, err = watchCopies(c.ctx, m.config)
	return err
}

func (c *ControlPlane) apiServerFlags(prefix string, port int) []string {
	return []string{
		"--etcd-servers=" + c.o.Servers.EtcdURL, "--etcd-prefix=" + prefix,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
		"--tls-cert-file=" + c.credential("apiserver.crt"), "--tls-private-key-file=" + c.credential("apiserver.key"),
		"--client-ca-file=" + c.credential("ca.crt"), "--token-auth-file=" + c.credential("tokens.csv"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.credential("service-account.key"), "--service-account-signing-key-file=" + c.credential("service-account.key"),
		"--service-cluster-ip-range=10.96.0.0/16", "--allow-privileged=true", "--profiling=false", "--authorization-mode=Node,RBAC",
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition", "--v=1",
	}
}

// point makes the clients of a member's API server at a port.
func (c *ControlPlane) point(m *member, port int) error {
	loaded, err := clientcmd.LoadFromFile(c.o.Kubeconfig)
	if err != nil {
		return err
	}
	m.url = fmt.Sprintf("https://127.0.0.1:%d", port)
	for _, cluster := range loaded.Clusters {
		cluster.Server = m.url
	}
	m.kubeconfig = filepath.Join(c.o.Dir, m.spec.Name+".kubeconfig")
	if err := clientcmd.WriteToFile(*loaded, m.kubeconfig); err != nil {
		return err
	}
	if m.config, err = clientcmd.BuildConfigFromFlags("", m.kubeconfig); err != nil {
		return err
	}
	m.config.QPS = -1
	m.client, err = kubernetes.NewForConfig(m.config)
	return err
}

func (c *ControlPlane) startMemberControllers(ctx context.Context, m *member) error {
	flags := map[string][]string{
		"controllers": {
			"--secure-port=0", "--leader-elect=false", "--v=1",
			"--root-ca-file=" + c.credential("ca.crt"), "--service-account-private-key-file=" + c.credential("service-account.key"),
			"--controllers=deployment,replicaset,statefulset,daemonset,job,namespace,garbagecollector,serviceaccount,serviceaccount-token," +
				"endpoint,endpointslice,disruption",
		},
		"scheduler": {"--secure-port=0", "--leader-elect=false", "--v=1"},
		"kwok": {
			"--manage-all-nodes=true", "--cidr=10.2.0.0/16", "--node-ip=10.0.0.1", "--node-lease-duration-seconds=40",
			"--config=" + c.stages(),
		},
	}
	binaries := map[string]string{"controllers": "kube-controller-manager", "scheduler": "kube-scheduler", "kwok": "kwok"}
	var group errgroup.Group
	for part, binary := range binaries {
		group.Go(func() error {
			_, err := c.o.Servers.Add(ctx, server.Child{
				Name: m.spec.Name + "-" + part, Binary: c.binary(binary),
				Args: func([]int) []string { return append(flags[part], "--kubeconfig="+m.kubeconfig) },
			})
			return err
		})
	}
	return group.Wait()
}

// plenty is what a member without a size of its own has.
const plenty = 1000

func (m *member) addNode(ctx context.Context) error {
	cpus := m.spec.CPUs
	if cpus == 0 {
		cpus = plenty
	}
	size := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(cpus, resource.DecimalSI),
		corev1.ResourceMemory: resource.MustParse("1Ti"), corev1.ResourcePods: *resource.NewQuantity(plenty, resource.DecimalSI),
	}
	name := m.nodeName()
	_, err := m.client.CoreV1().Nodes().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
			Labels: map[string]string{"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"},
		},
		Status: corev1.NodeStatus{Allocatable: size, Capacity: size},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (m *member) nodeName() string { return m.spec.Name + "-node" }

// register makes a member known to Karmada, as `karmadactl join` does, and returns when it is Ready.
func (c *ControlPlane) register(ctx context.Context, spec karmada.MemberSpec) error {
	m := c.member(cmp.Or(spec.SameAs, spec.Name))
	if m == nil {
		return unknownMember(cmp.Or(spec.SameAs, spec.Name))
	}
	ca, err := os.ReadFile(c.credential("ca.crt"))
	if err != nil {
		return err
	}
	if err := c.writeCredential(ctx, spec.Name, ca, m.config.BearerToken); err != nil {
		return err
	}
	cluster := karmada.NewCluster(spec, m.url)
	if err := unstructured.SetNestedStringMap(cluster.Object, map[string]string{"namespace": "karmada-cluster", "name": spec.Name}, "spec", "secretRef"); err != nil {
		return err
	}
	if _, err := c.client.Resource(api.Clusters).Create(ctx, cluster, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("register cluster %s: %w", spec.Name, err)
	}
	return karmada.AwaitReady(ctx, c.client, spec.Name)
}

// writeCredential writes the Secret by which Karmada reaches a member.
func (c *ControlPlane) writeCredential(ctx context.Context, name string, ca []byte, token string) error {
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "karmada-cluster"},
		Data:       map[string][]byte{"caBundle": ca, "token": []byte(token)},
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(secret)
	if err != nil {
		return err
	}
	secrets := c.client.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace("karmada-cluster")
	if _, err := secrets.Apply(ctx, name, &unstructured.Unstructured{Object: object}, metav1.ApplyOptions{FieldManager: "lab", Force: true}); err != nil {
		return fmt.Errorf("write the credential of %s: %w", name, err)
	}
	return nil
}

// Garble replaces the token in a member's Secret by one that the member does not accept, or puts the
// good one back.
func (c *ControlPlane) Garble(name string, garbled bool) error {
	m := c.member(name)
	if m == nil {
		return unknownMember(name)
	}
	ca, err := os.ReadFile(c.credential("ca.crt"))
	if err != nil {
		return err
	}
	token := m.config.BearerToken
	if garbled {
		token = "expired"
	}
	return c.writeCredential(c.ctx, name, ca, token)
}

func (c *ControlPlane) member(name string) *member {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.members[name]
}

func unknownMember(name string) error { return fmt.Errorf("there is no member %q", name) }

// Join starts a member and returns when it is Ready.
func (c *ControlPlane) Join(spec karmada.MemberSpec) error {
	if spec.SameAs == "" {
		if err := c.startMember(c.ctx, spec); err != nil {
			return err
		}
		if err := c.offerAll(c.ctx, c.member(spec.Name)); err != nil {
			return err
		}
	}
	return c.register(c.ctx, spec)
}

// Kill kills a member's API server with -9, and nothing else of it.
func (c *ControlPlane) Kill(name string) error {
	m := c.member(name)
	if m == nil {
		return unknownMember(name)
	}
	c.setAlive(m, false)
	return c.o.Servers.Kill(apiServerOf(name))
}

// Revive starts it again on what it had stored.
func (c *ControlPlane) Revive(name string) error {
	m := c.member(name)
	if m == nil {
		return unknownMember(name)
	}
	if err := c.o.Servers.Again(c.ctx, apiServerOf(name)); err != nil {
		return err
	}
	c.setAlive(m, true)
	m.copies.again()
	return c.offerAll(c.ctx, m)
}

func (c *ControlPlane) setAlive(m *member, alive bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m.alive = alive
}

// Leave deletes a member's Cluster and returns at once. The member runs until Karmada has let the
// Cluster go.
func (c *ControlPlane) Leave(name string) error {
	if c.member(name) == nil {
		return unknownMember(name)
	}
	if err := c.client.Resource(api.Clusters).Delete(c.ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete cluster %s: %w", name, err)
	}
	c.tasks.Go(func() {
		gone := func(ctx context.Context) (bool, error) {
			_, err := c.client.Resource(api.Clusters).Get(ctx, name, metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		}
		if err := wait.PollUntilContextCancel(c.ctx, time.Second, true, gone); err != nil {
			return // the lab stops
		}
		c.member(name).copies.stop()
		c.forget(name)
		if err := c.o.Servers.Drop(processesOf(name)...); err != nil {
			c.o.Logger.Error("member not stopped", "member", name, "error", err)
		}
	})
	return nil
}
