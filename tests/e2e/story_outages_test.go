package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/operatorservice/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// etcdMemberLost has one of three members of Karmada's etcd die in the middle of a failover:
// first one that follows, which nobody notices; then, while an eviction is on its way, the
// one that leads.
//
// It guards invariants 1 and 5 where 8 ends: a write whose answer tells nothing is looked at
// again, and not done twice.
func etcdMemberLost(s *scene) {
	s.chronicle.patient = true
	from := s.c(1)
	first, second, ends := s.oneAfterTheOther()

	s.etcd("lose-etcd-follower")
	s.kill(from)
	s.moved(from, first)
	s.etcd("return-etcd")

	eviction := s.gate.stopAt(false, func(w write) bool { return w.evicts(second, from) })
	s.annotate(second, prefix+"enabled", "")
	s.reaches(eviction, "the second eviction is on its way")
	s.etcd("lose-etcd-leader")
	eviction.letGo()
	s.moved(from, second)
	s.etcd("return-etcd")
	ends()
}

// oneAfterTheOther puts two bindings on the first cluster, of which the second has opted out
// for now. What it returns last ends the failover: both have moved once, and neither worker nor
// controller was started anew.
func (s *scene) oneAfterTheOther() (first, second string, ends func()) {
	from, to := s.c(1), s.c(2)
	s.rule(time.Second, time.Second)
	first = s.deploy("first", from, 2, oneOf(from, to))
	second = s.deploy("second", from, 1, oneOf(from, to), prefix+"enabled=false")
	worker, controller := s.worker, s.controller
	return first, second, func() {
		s.recovers(from, map[string]string{first: "Migrated", second: "Migrated"})
		for _, key := range []string{first, second} {
			s.evicted(key, from)
			s.releasedWhenItRan(key, from)
		}
		require.Same(s, worker, s.worker, "no restart")
		require.Same(s, controller, s.controller, "no restart")
	}
}

// etcd loses a member or has it back, and waits until the API server answers again.
func (s *scene) etcd(verb string) {
	require.NoError(s, s.lab.control(s.ctx, verb, "", nil))
	s.await(verb+": the API server answers", func() (bool, string) {
		_, err := s.api.Resource(clusters).List(s.ctx, metav1.ListOptions{})
		return err == nil, fmt.Sprint(err)
	})
}

// moved waits until a binding has.
func (s *scene) moved(from, key string) {
	s.awaitFailover(from, key+" has moved", func(e *clusterFailover) bool { return e.ended(key, "Migrated") })
}

// attributesMissing has the search attributes that Lifeboat was set up with taken out of
// Temporal's namespace: before a failure, and again in the middle of one. Nothing goes on
// without them; preflight names them, a worker refuses to start, and setup cures it for
// whatever runs.
//
// Rules: R4.15-18, R4.15-24.
func attributesMissing(s *scene) {
	from := s.c(1)
	first, second, ends := s.oneAfterTheOther()

	names := s.removeAttributes()
	failed := s.metric(s.controller, undeliverable)
	s.kill(from)
	s.logs("controller", "could not deliver, trying again")
	require.Greater(s, s.metric(s.controller, undeliverable), failed)
	checks, code := s.preflight("worker", "--role", "worker", "--set", "mode=enforce")
	require.Equal(s, 4, code)
	lacking := checks["Temporal search attributes"]
	require.Equal(s, "failed", lacking.Result)
	require.Contains(s, lacking.Do, "lifeboat setup")
	for _, name := range names {
		require.Contains(s, lacking.Found, name)
	}
	_, err := s.serve(s.ctx, "lifeboat-worker", "another", s.lab.At.Kubeconfigs["worker"], "--mode", "enforce")
	require.ErrorContains(s, err, "lacks the search attributes "+strings.Join(names, ", "))
	require.Nil(s, s.cluster(from).taint(failedTaint, "NoExecute"), "nothing is done without them")
	s.setUp()
	s.moved(from, first)

	s.removeAttributes()
	rejected := s.metric(s.worker, rejectedTasks)
	s.annotate(second, prefix+"enabled", "")
	s.logs("worker", "Task processing failed with error.*BadSearchAttributes")
	require.Greater(s, s.metric(s.worker, rejectedTasks), rejected)
	s.setUp()
	s.moved(from, second)
	ends()
}

// rejectedTasks counts what a worker decided and the server did not take.
const rejectedTasks = `temporal_request_failure_total\{.*operation="RespondWorkflowTaskCompleted"`

// removeAttributes takes the search attributes out of the namespace and names them, sorted.
func (s *scene) removeAttributes() []string {
	names := []string{"LifeboatBinding", "LifeboatCluster", "LifeboatMode", "LifeboatPhase", "LifeboatReason"}
	_, err := s.temporal.OperatorService().RemoveSearchAttributes(s.ctx, &operatorservice.RemoveSearchAttributesRequest{
		Namespace: s.lab.At.TemporalNamespace, SearchAttributes: names,
	})
	require.NoError(s, err)
	return names
}

// setUp runs lifeboat setup, as who installs does.
func (s *scene) setUp() {
	require.NoError(s, s.lifeboat("setup", s.lab.At.Kubeconfigs["setup"]).Run(), tail(s.logFile("setup"), 20))
}

// logs waits until a process logs what matches from now on.
func (s *scene) logs(who, pattern string) {
	info, err := os.Stat(s.logFile(who))
	require.NoError(s, err)
	sought := regexp.MustCompile("(?m)^.*(" + pattern + ").*$")
	var line []byte
	s.awaitQuietly(who+" logs "+pattern, func() (bool, string) {
		content, err := os.ReadFile(s.logFile(who))
		require.NoError(s, err)
		line = sought.Find(content[info.Size():])
		return line != nil, ""
	})
	s.Logf("%s  %s logs %s", time.Now().Format("15:04:05.0"), who, line)
}
