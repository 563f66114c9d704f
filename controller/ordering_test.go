package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/controller/status"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
)

// everyone: no workflow answers.
const everyone = "everyone"

// office is a Temporal that takes orders, and records the last.
type office struct {
	client.Client
	t       *testing.T
	id      string // of the workflow
	update  string
	sent    string // as JSON
	started bool
	refuse  error
	running map[string]workflows.FailoverStatus // by cluster
	pacer   *workflows.PacerStatus              // nil: none runs
	listed  []string                            // the queries of lists
	// application is the failover of that of every binding, nil: none runs.
	application *workflows.ApplicationStatus
	silent      string // the workflow that does not answer queries, or everyone
}

func (o *office) Close() {}

func (o *office) take(u client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	raw, err := json.Marshal(u.Args[0])
	require.NoError(o.t, err)
	o.id, o.update, o.sent = u.WorkflowID, u.UpdateName, string(raw)
	handle := mocks.NewWorkflowUpdateHandle(o.t)
	handle.On("Get", mock.Anything, mock.Anything).Return(o.refuse).Run(func(args mock.Arguments) {
		if into, ok := args.Get(1).(*string); ok {
			*into = "it is so"
		}
	})
	return handle, nil
}

func (o *office) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if o.application != nil {
		return &workflowservice.DescribeWorkflowExecutionResponse{
			WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{Status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING},
		}, nil
	}
	return nil, serviceerror.NewNotFound("no failover of an application")
}

func (o *office) UpdateWorkflow(_ context.Context, u client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	return o.take(u)
}

func (o *office) NewWithStartWorkflowOperation(client.StartWorkflowOptions, any, ...any) client.WithStartWorkflowOperation {
	return nil
}

func (o *office) UpdateWithStartWorkflow(_ context.Context, u client.UpdateWithStartWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	o.started = true
	return o.take(u.UpdateOptions)
}

func (o *office) ListWorkflow(_ context.Context, r *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	o.listed = append(o.listed, r.GetQuery())
	out := &workflowservice.ListWorkflowExecutionsResponse{}
	for cluster := range o.running {
		out.Executions = append(out.Executions, &workflow.WorkflowExecutionInfo{
			Execution: &common.WorkflowExecution{WorkflowId: workflows.ClusterFailoverID("", cluster)},
		})
	}
	return out, nil
}

func (o *office) QueryWorkflowWithOptions(_ context.Context, q *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	id := q.WorkflowID
	if id == o.silent || o.silent == everyone {
		return nil, context.DeadlineExceeded
	}
	for cluster, s := range o.running {
		if id == workflows.ClusterFailoverID("", cluster) {
			require.Equal(o.t, workflows.QueryExplain, q.QueryType, "its status has only a part of a long queue")
			r, _ := q.Args[0].(workflows.ExplainRequest)
			return flowtest.Answer(s.Explain(cluster, r, time.Now())), nil
		}
	}
	if o.application != nil && strings.HasPrefix(id, workflows.ApplicationFailoverPrefix("")) {
		return flowtest.Answer(*o.application), nil
	}
	if o.pacer != nil && id == workflows.FleetPacerID("") {
		return flowtest.Answer(*o.pacer), nil
	}
	return nil, serviceerror.NewNotFound("no pacer either")
}

// tell runs a command line against it.
func (o *office) tell(t *testing.T, want int, words ...string) string {
	t.Helper()
	o.t = t
	return execute(t, fakeApp(o, held{}), want, words...)
}

// held is a Karmada in which cart runs on member1, and was left to an operator on member3.
type held struct{ fleet }

func (held) Clusters(context.Context) ([]karmada.Cluster, error) {
	return []karmada.Cluster{{Name: "member1"}, {Name: "member2"}, {Name: "member3"}}, nil
}

func (h held) Binding(ctx context.Context, key karmada.BindingKey) (karmada.Binding, error) {
	all, err := h.Bindings(ctx, activities.Page{})
	at := slices.IndexFunc(all.Bindings, func(b karmada.Binding) bool { return b.Key == key })
	if err != nil || at < 0 {
		return karmada.Binding{}, errors.Join(err, karmada.ErrGone)
	}
	b := all.Bindings[at]
	if b.Resource.Name == "cart" {
		b.Clusters = []karmada.TargetCluster{{Name: "member1"}}
		b.Tasks = []karmada.Task{{FromCluster: "member3", Producer: karmada.Producer, Reason: karmada.TaskReasonNeedsOperator}}
	}
	return b, nil
}

// waits is a failover in which these bindings wait, and one of no concern.
func waits(names ...string) workflows.FailoverStatus {
	s := workflows.FailoverStatus{}
	s.Listed = time.Now()
	s.Items = []queue.Item{{Key: karmada.BindingKey{Namespace: "shop", Name: "idle"}, State: queue.Idle}}
	for _, name := range names {
		s.Items = append(s.Items, queue.Item{Key: karmada.BindingKey{Namespace: "shop", Name: name}, State: queue.Due})
	}
	return s
}

const (
	ada       = `"who":"ada","reason":"a drill"`
	cartKey   = `"binding":{"namespace":"shop","name":"cart-deployment"}`
	failover1 = "cluster-failover/member1"
	ofCart    = "application-failover/shop/cart-deployment"
)

// The failover of a cluster moves a binding whatever that of its application was told.
//
// Rules: R4.13-9.
func TestOrders_BindingWithAFailoverOfItsApplication_GoToTheOneThatWouldMoveIt(t *testing.T) {
	moves := workflows.ApplicationState{Cluster: "member2", Move: &workflows.Migration{}}
	for name, c := range map[string]struct {
		line    string
		state   workflows.ApplicationState
		cluster string // whose failover concerns it
		want    string
	}{
		"its cluster fails, too":              {line: "pause", cluster: "member1", want: failover1},
		"its cluster fails, and it moves":     {line: "pause", cluster: "member1", state: moves, want: ofCart},
		"no cluster fails":                    {line: "cancel", want: ofCart},
		"an order that only clusters take":    {line: "skip", cluster: "member1", want: failover1},
		"an order to enforce":                 {line: "resume --enforce", want: ofCart},
		"its migration waits for proof":       {line: "confirm-fenced", cluster: "member1", state: moves, want: "binding-migration/member2/shop/cart-deployment"},
		"a put-back while it moves":           {line: "put-back", state: moves, want: ofCart},
		"a put-back of what a move left held": {line: "put-back", want: "cluster-failover/member3"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &office{application: &workflows.ApplicationStatus{ApplicationState: c.state}, running: map[string]workflows.FailoverStatus{}}
			if c.cluster != "" {
				o.running[c.cluster] = waits("cart-deployment")
			}
			o.tell(t, process.ExitOK, append(strings.Fields(c.line), "shop/cart-deployment", "--who", "ada", "--reason", "a drill", "--yes")...)
			require.Equal(t, c.want, o.id)
		})
	}
	o := &office{application: &workflows.ApplicationStatus{}, running: map[string]workflows.FailoverStatus{}}
	o.tell(t, process.ExitNotFound, "put-back", "shop/till-deployment", "--who", "ada", "--reason", "a drill", "--yes") // nothing of it is held
}

// Two failovers may concern one binding: the answer names the one that did not get the order.
func TestOrders_BindingOfTwoFailovers_NameTheOther(t *testing.T) {
	moves := &workflows.ApplicationStatus{ApplicationState: workflows.ApplicationState{Move: &workflows.Migration{}}}
	for name, c := range map[string]struct {
		application *workflows.ApplicationStatus
		line        string
		cluster     string // whose failover concerns it
		also        string
	}{
		"sent to that of its application": {application: moves, line: "put-back shop/cart-deployment", cluster: "member1", also: "the failover of member1 concerns it, too: lifeboat put-back shop/cart-deployment --cluster member1, with the same flags"},
		"sent to that of its cluster":     {application: moves, line: "pause shop/cart-deployment --cluster member1", cluster: "member1", also: "the failover of its application moves it, too: lifeboat pause shop/cart-deployment, with the same flags"},
		"no cluster fails":                {application: moves, line: "put-back shop/cart-deployment"},
		"its application does not move":   {application: &workflows.ApplicationStatus{}, line: "pause shop/cart-deployment", cluster: "member1", also: "the failover of its application runs, too, and did not get this order"},
		"that of its application cannot":  {application: moves, line: "skip shop/cart-deployment --cluster member1", cluster: "member1", also: "the failover of its application runs, too, and did not get this order"},
		"none of its application":         {line: "pause shop/cart-deployment", cluster: "member1"},
		"of the whole cluster":            {application: moves, line: "pause member1", cluster: "member1"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &office{application: c.application, running: map[string]workflows.FailoverStatus{}}
			if c.cluster != "" {
				o.running[c.cluster] = waits("cart-deployment")
			}
			line := append(strings.Fields(c.line), "--who", "ada", "--reason", "a drill", "--yes")
			out := o.tell(t, process.ExitOK, append(line, "-o", "json")...)
			var answer orderAnswer
			require.NoError(t, json.Unmarshal([]byte(out), &answer))
			require.Equal(t, c.also, answer.Also)

			out = o.tell(t, process.ExitOK, line...)
			require.Equal(t, c.also != "", strings.Contains(strings.Join(strings.Fields(out), " "), "also: "+c.also), out)
		})
	}
}

func TestOrders_GoToTheirWorkflowAndNameWhatTheyLeave(t *testing.T) {
	for line, c := range map[string]struct{ id, update, sent string }{
		"pause member1":         {id: failover1, update: "pause", sent: `{` + ada + `}`},
		"pause member1 -n shop": {id: failover1, update: "pause", sent: `{` + ada + `,"namespace":"shop"}`},
		"pause member1 --binding deployment/cart -n shop": {id: failover1, update: "pause", sent: `{` + ada + `,` + cartKey + `}`},
		"pause deployment/cart -n shop":                   {id: failover1, update: "pause", sent: `{` + ada + `,` + cartKey + `}`},
		"pause shop/cart-deployment --cluster member2":    {id: "cluster-failover/member2", update: "pause", sent: `{` + ada + `,` + cartKey + `}`},
		"rate fleet 0.2":                                {id: "fleet-pacer", update: "set-rate", sent: `{` + ada + `,"rate":0.2}`},
		"rate 0.2":                                      {id: "fleet-pacer", update: "set-rate", sent: `{` + ada + `,"rate":0.2}`},
		"rate fleet configured":                         {id: "fleet-pacer", update: "set-rate", sent: `{` + ada + `,"rate":0,"configured":true}`},
		"cancel shop/cart-deployment --put-back":        {id: failover1, update: "cancel", sent: `{` + ada + `,` + cartKey + `,"putBack":true}`},
		"confirm-fenced shop/cart-deployment":           {id: failover1, update: "confirm-fenced", sent: `{` + ada + `,` + cartKey + `}`},
		"snooze member2 -n shop --for 2h":               {id: "cluster-failover/member2", update: "snooze", sent: `{` + ada + `,"namespace":"shop","for":"2h"}`},
		"snooze member2 --for 2h":                       {id: "cluster-failover/member2", update: "snooze", sent: `{` + ada + `,"all":true,"for":"2h"}`},
		"approve member1":                               {id: failover1, update: "approve", sent: `{` + ada + `,"all":true}`},
		"taint member1 maintenance:NoExecute-":          {id: failover1, update: "untaint", sent: `{` + ada + `,"taint":"maintenance:NoExecute"}`},
		"taint member1 --end":                           {id: failover1, update: "untaint", sent: `{` + ada + `}`},
		"untaint member1 maintenance:NoExecute-":        {id: failover1, update: "untaint", sent: `{` + ada + `,"taint":"maintenance:NoExecute"}`},
		"drain member1 --end":                           {id: failover1, update: "undrain", sent: `{` + ada + `}`},
		"undrain member1":                               {id: failover1, update: "undrain", sent: `{` + ada + `}`},
		"pause fleet":                                   {id: "fleet-pacer", update: "halt", sent: `{` + ada + `}`},
		"resume member1":                                {id: failover1, update: "resume", sent: `{` + ada + `}`},
		"resume member1 -n shop":                        {id: failover1, update: "resume", sent: `{` + ada + `,"namespace":"shop"}`},
		"resume member1 --enforce":                      {id: failover1, update: "resume", sent: `{` + ada + `,"enforce":true}`},
		"resume fleet":                                  {id: "fleet-pacer", update: "resume", sent: `{` + ada + `}`},
		"cancel member1":                                {id: failover1, update: "cancel", sent: `{` + ada + `}`},
		"cancel member1 --put-back":                     {id: failover1, update: "cancel", sent: `{` + ada + `,"putBack":true}`},
		"cancel member1 --binding shop/cart-deployment": {id: failover1, update: "cancel", sent: `{` + ada + `,` + cartKey + `}`},
		"confirm-fenced member1":                        {id: failover1, update: "confirm-fenced", sent: `{` + ada + `}`},
		"confirm-fenced member1 --binding shop/cart-deployment": {
			id: failover1, update: "confirm-fenced", sent: `{` + ada + `, "binding": {"namespace": "shop", "name": "cart-deployment"}}`,
		},
		"snooze shop/cart-deployment --for 30m":              {id: failover1, update: "snooze", sent: `{` + ada + `,` + cartKey + `,"for":"30m"}`},
		"snooze deployment/cart -n shop --for 30m":           {id: failover1, update: "snooze", sent: `{` + ada + `,` + cartKey + `,"for":"30m"}`},
		"snooze -n shop --cluster member2 --for 2h":          {id: "cluster-failover/member2", update: "snooze", sent: `{` + ada + `,"namespace":"shop","for":"2h"}`},
		"snooze --all --cluster member2 --for 2h":            {id: "cluster-failover/member2", update: "snooze", sent: `{` + ada + `,"all":true,"for":"2h"}`},
		"approve shop/cart-deployment":                       {id: failover1, update: "approve", sent: `{` + ada + `,` + cartKey + `}`},
		"approve --all --cluster member1":                    {id: failover1, update: "approve", sent: `{` + ada + `,"all":true}`},
		"prioritise shop/cart-deployment --priority 0":       {id: failover1, update: "prioritise", sent: `{` + ada + `,` + cartKey + `,"priority":0}`},
		"prioritise -n shop --cluster member1 --priority -5": {id: failover1, update: "prioritise", sent: `{` + ada + `,"namespace":"shop","priority":-5}`},
		"taint member1 maintenance:NoExecute":                {id: failover1, update: "taint", sent: `{` + ada + `,"taint":"maintenance:NoExecute"}`},
		"taint member1 a=b:PreferNoExecute":                  {id: failover1, update: "taint", sent: `{` + ada + `,"taint":"a=b:PreferNoExecute"}`},
		"untaint member1":                                    {id: failover1, update: "untaint", sent: `{` + ada + `}`},
		"untaint member1 maintenance:NoExecute":              {id: failover1, update: "untaint", sent: `{` + ada + `,"taint":"maintenance:NoExecute"}`},
		"skip shop/cart-deployment":                          {id: failover1, update: "skip", sent: `{` + ada + `,` + cartKey + `}`},
		"put-back shop/cart-deployment --cluster member3":    {id: "cluster-failover/member3", update: "put-back", sent: `{` + ada + `,` + cartKey + `}`},
		"release shop/cart-deployment --cluster member3":     {id: "cluster-failover/member3", update: "release", sent: `{` + ada + `,` + cartKey + `}`},
	} {
		t.Run(line, func(t *testing.T) {
			o := &office{running: map[string]workflows.FailoverStatus{"member1": waits("cart-deployment"), "member2": waits("till-deployment")}}
			words := append(strings.Fields(line), "--who", "ada", "--reason", "a drill", "--yes", "--ui-url", "http://ui")
			out := o.tell(t, process.ExitOK, words...)
			require.Equal(t, c.id, o.id)
			require.Equal(t, c.update, o.update)
			require.JSONEq(t, c.sent, o.sent)
			fixtures.ContainsAll(t, out, "it is so\nnot changed: ", "http://ui/namespaces/lifeboat/workflows/")
			out = o.tell(t, process.ExitOK, append(words, "-o", "json")...)
			var said orderAnswer
			require.NoError(t, json.Unmarshal([]byte(out), &said), out)
			require.Equal(t, "it is so", said.Answer)
			require.NotEmpty(t, said.NotChanged)
			require.NotEmpty(t, said.Link)
			require.Equal(t, words[0], said.Verb)
		})
	}
}

func TestOrders_NeedAReasonAndAConfirmation(t *testing.T) {
	for _, line := range []string{
		"pause member1", "resume member1", "cancel member1", "confirm-fenced member1", "drain member1", "undrain member1",
		"taint member1 a:NoExecute", "untaint member1",
		"snooze shop/cart-deployment --for 5m", "approve shop/cart-deployment", "prioritise shop/cart-deployment --priority 1",
		"skip shop/cart-deployment", "put-back shop/cart-deployment", "release shop/cart-deployment",
	} {
		o := &office{}
		out := o.tell(t, process.ExitUsage, strings.Fields(line)...)
		require.Contains(t, out, "--reason", line)
		out = o.tell(t, process.ExitRefused, append(strings.Fields(line), "--reason", "x")...)
		require.Contains(t, out, "add --yes", line)
		require.Empty(t, o.update, line)
	}
}

func TestOrders_ForNoOrTwoObjects_AreUsageErrors(t *testing.T) {
	for line, want := range map[string]string{
		"snooze --for 5m":                           "want <cluster>|<binding>",
		"snooze --cluster a --for 5m":               "want <cluster>|<binding>",
		"snooze a --cluster b --for 5m":             "a is a cluster",
		"snooze a/b --all --for 5m":                 "--all excludes",
		"snooze --all --for 5m":                     "want <cluster>|<binding>",
		"snooze -n shop --for 5m":                   "want <cluster>|<binding>",
		"snooze --all -n shop --cluster a --for 5m": "--all excludes",
		"snooze shop/cart":                          "say for how long, with --for",
		"snooze shop/cart --for soon":               "is no duration",
		"release cart":                              "want <namespace>/<binding>",
		"snooze a/b c/d --for 5m":                   "got 2 arguments",
		"prioritise shop/cart":                      "with --priority",
		"skip":                                      "want <cluster>|<binding>",
		"skip member1":                              "skip wants <binding>",
		"skip shop/cart --put-back":                 "no --put-back",
		"release":                                   "want <binding>",
		"cancel member1 -n shop":                    "says where a workload is",
		"pause fleet -n shop":                       "not for the fleet",
		"pause member1 --binding cart":              "want <namespace>/<binding>",
		"confirm-fenced fleet":                      "name of a cluster",
		"resume member1 -n shop --enforce":          "one whole cluster",
		"resume fleet --enforce":                    "one whole cluster",
		"resume a/b --cluster member1 --enforce":    "for one application",
	} {
		o := &office{}
		out := o.tell(t, process.ExitUsage, append(strings.Fields(line), "--reason", "x", "--yes")...)
		require.Contains(t, out, want, line)
		require.Empty(t, o.update, line)
	}
}

func TestOrders_ForABinding_FindItsFailover(t *testing.T) {
	cart := []string{"shop/cart-deployment", "--reason", "x", "--yes"}
	both := map[string]workflows.FailoverStatus{"member1": waits("cart-deployment"), "member2": waits("cart-deployment")}
	for name, c := range map[string]struct {
		verb    string
		running map[string]workflows.FailoverStatus
		to      string
		code    int
		says    string
	}{
		"none runs":             {verb: "skip", code: process.ExitNotFound, says: "with --cluster"},
		"none concerns it":      {verb: "skip", running: map[string]workflows.FailoverStatus{"member1": waits("till-deployment", "idle")}, code: process.ExitNotFound, says: "with --cluster"},
		"one does":              {verb: "skip", running: map[string]workflows.FailoverStatus{"member2": waits("cart-deployment")}, to: "member2", code: process.ExitOK},
		"two do":                {verb: "skip", running: both, code: process.ExitRefused, says: "member1 and member2"},
		"left to an operator":   {verb: "put-back", to: "member3", code: process.ExitOK},
		"left, released":        {verb: "release", to: "member3", code: process.ExitOK},
		"left, and fails again": {verb: "release", running: map[string]workflows.FailoverStatus{"member1": waits("cart-deployment")}, code: process.ExitRefused, says: "member1 and member3"},
		"left, and in no queue": {verb: "skip", code: process.ExitNotFound, says: "with --cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &office{running: c.running}
			out := o.tell(t, c.code, append([]string{c.verb}, cart...)...)
			require.Contains(t, out, c.says)
			if c.to == "" {
				require.Empty(t, o.update)
				return
			}
			require.Equal(t, workflows.ClusterFailoverID("", c.to), o.id)
			require.Equal(t, c.verb != "skip", o.started, "what an earlier failover left behind needs one that runs")
		})
	}
}

// A failover that does not know its bindings yet moves those of its cluster once it has listed them.
//
// Rules: R4.13-9.
func TestOrders_ForABinding_GoToTheFailoverThatIsStillToListIt(t *testing.T) {
	suspected, rest, stopped, cordons, settles := waits(), waits(), waits(), waits(), waits()
	suspected.Listed, stopped.Listed, stopped.Phase = time.Time{}, time.Time{}, phase.FailoverStopped
	cordons.Listed, cordons.Phase = time.Time{}, phase.FailoverCordoned
	settles.Later, settles.ClosedAt = []*queue.BindingSet{{}}, fixtures.At(60)
	rest.Later = []*queue.BindingSet{{}}
	for name, c := range map[string]struct {
		verb, cluster string
		state         workflows.FailoverStatus
		want          string
	}{
		"nothing is listed yet":           {verb: "pause", cluster: "member1", state: suspected, want: failover1},
		"the rest is still to be listed":  {verb: "pause", cluster: "member1", state: rest, want: failover1},
		"of a cluster that it is not on":  {verb: "pause", cluster: "member2", state: suspected, want: ofCart},
		"it was cancelled before it did":  {verb: "pause", cluster: "member1", state: stopped, want: ofCart},
		"it only cordons":                 {verb: "pause", cluster: "member1", state: cordons, want: ofCart},
		"it recovers":                     {verb: "pause", cluster: "member1", state: settles, want: ofCart},
		"an order to enforce":             {verb: "resume --enforce", cluster: "member1", state: suspected, want: ofCart},
		"an order about a copy elsewhere": {verb: "release", cluster: "member1", state: suspected, want: "cluster-failover/member3"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &office{application: &workflows.ApplicationStatus{}, running: map[string]workflows.FailoverStatus{c.cluster: c.state}}
			o.tell(t, process.ExitOK, append(strings.Fields(c.verb), "shop/cart-deployment", "--reason", "x", "--yes")...)
			require.Equal(t, c.want, o.id)
		})
	}
	o := &office{t: t, application: &workflows.ApplicationStatus{}, running: map[string]workflows.FailoverStatus{"member1": suspected}}
	out := execute(t, fakeApp(o, nil), process.ExitFailed, "pause", "shop/cart-deployment", "--reason", "x", "--yes") // which clusters it is on is unknown
	fixtures.ContainsAll(t, out, "cannot read whether the failover of member1 concerns shop/cart-deployment: ", "; say which with --cluster")
	require.Empty(t, o.update)
}

// One that does not answer may move the binding: no other is chosen instead.
//
// Rules: R4.13-9.
func TestOrders_ForABinding_ChooseNoneWhileOneDoesNotAnswer(t *testing.T) {
	const silent = "cannot read whether the failover of member2 concerns shop/cart-deployment: no answer within 5s"
	for name, c := range map[string]struct {
		verb, silent, cluster string
		application           *workflows.ApplicationStatus
		says                  []string
	}{
		"another concerns it":      {verb: "pause", silent: "cluster-failover/member2", cluster: "member1", says: []string{silent, "is concerned by member1)"}},
		"its application runs":     {verb: "pause", silent: "cluster-failover/member2", application: &workflows.ApplicationStatus{}, says: []string{silent}},
		"it is held elsewhere":     {verb: "release", silent: "cluster-failover/member2", says: []string{silent}},
		"its application does not": {verb: "pause", silent: ofCart, cluster: "member1", application: &workflows.ApplicationStatus{}, says: []string{"the failover of its application moves", "is concerned by member1)"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := &office{silent: c.silent, application: c.application, running: map[string]workflows.FailoverStatus{"member2": waits()}}
			if c.cluster != "" {
				o.running[c.cluster] = waits("cart-deployment")
			}
			out := o.tell(t, process.ExitFailed, c.verb, "shop/cart-deployment", "--reason", "x", "--yes")
			fixtures.ContainsAll(t, out, append(c.says, "; say which with --cluster")...)
			require.Empty(t, o.update)

			o.tell(t, process.ExitOK, c.verb, "shop/cart-deployment", "--cluster", "member1", "--reason", "x", "--yes")
			require.Equal(t, failover1, o.id)
		})
	}
}

// Rules: R4.15-24.
func TestOrders_ForAnUnknownBinding_AreNotFound(t *testing.T) {
	for line, want := range map[string]string{
		"skip shop/cartt": "shop/cartt", "put-back shop/cartt": "shop/cartt", "release shop/cartt": "shop/cartt",
		"pause shop/cartt --cluster member1": "shop/cartt", "pause member1 --binding deployment/cart": "deployment/cart",
	} {
		o := &office{}
		out := o.tell(t, process.ExitNotFound, append(strings.Fields(line), "--reason", "x", "--yes")...)
		fixtures.ContainsAll(t, out, "no such binding: "+want, "<kind>/<name> -n <namespace>")
		require.Empty(t, o.update, line)
	}
}

// The failover of a name that is none would be started, and end at once.
func TestOrders_ForAnUnknownCluster_StartNoFailoverOfIt(t *testing.T) {
	for _, verb := range []string{"put-back", "release"} {
		o := &office{}
		out := o.tell(t, process.ExitNotFound, verb, "shop/cart-deployment", "--cluster", "membr3", "--reason", "x", "--yes")
		require.Contains(t, out, "no such cluster: membr3; did you mean member3?", verb)
		require.Empty(t, o.update, verb)
	}
}

// Failovers of applications that do not answer would hold the order up.
func TestOrders_ForABinding_QueryNoFailoversOfOtherApplications(t *testing.T) {
	o := &office{running: map[string]workflows.FailoverStatus{"member1": waits("cart-deployment")}}
	o.tell(t, process.ExitOK, "skip", "shop/cart-deployment", "--reason", "x", "--yes")
	require.Equal(t, []string{"WorkflowType = 'ClusterFailover' AND ExecutionStatus = 'Running'"}, o.listed)
}

// A hold task of another cluster could be meant: the order is sent only to a cluster that the operator names.
func TestOrders_KarmadaAway_NameTheFailoversThatAreKnown(t *testing.T) {
	for _, verb := range []string{"put-back", "release"} {
		o := &office{t: t, running: map[string]workflows.FailoverStatus{"member1": waits("cart-deployment")}}
		out := execute(t, fakeApp(o, nil), process.ExitFailed, verb, "shop/cart-deployment", "--reason", "x", "--yes")
		fixtures.ContainsAll(t, out, "cannot read which clusters hold a copy of shop/cart-deployment: ",
			"; say which with --cluster (shop/cart-deployment is concerned by member1)")
		require.Empty(t, o.update, verb)

		execute(t, fakeApp(o, nil), process.ExitOK, verb, "shop/cart-deployment", "--cluster", "member1", "--reason", "x", "--yes")
		require.Equal(t, failover1, o.id)
	}
}

// The failover of a deleted cluster is over, and its state still has the drain.
func TestDrainWait_ClusterIsDeleted_EndsWithAnError(t *testing.T) {
	gone := waits()
	gone.Phase, gone.GoneAt, gone.Cluster.Drain = phase.FailoverGone, fixtures.T0, &karmada.Drain{}
	c := mocks.NewClient(t)
	c.On("QueryWorkflowWithOptions", mock.Anything, flowtest.Query("cluster-failover/member1", workflows.QueryStatus)).Return(flowtest.Answer(gone), nil)
	cmd, out := &cobra.Command{}, orderAnswer{Cluster: "member1"}
	cmd.SetContext(t.Context())
	err := awaitDrain(cmd, status.Source{Client: c}, &drainOptions{}, true, &out)
	require.EqualError(t, err, "the drain has ended before it was done: cluster member1 is gone")
	require.True(t, out.Progress.Ended)
}

// emptyTemporal is a Temporal in which no workflow runs.
type emptyTemporal struct {
	client.Client
	adopts []workflows.Adopt
	// unreachable is the cluster whose failover cannot be signalled.
	unreachable string
}

func (*emptyTemporal) Close() {}

func (*emptyTemporal) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, serviceerror.NewNotFound("nothing runs")
}

func (a *emptyTemporal) SignalWithStartWorkflow( //nolint:revive // the client's own interface
	_ context.Context, _, _ string, arg any, _ client.StartWorkflowOptions, _ any, _ ...any,
) (client.WorkflowRun, error) {
	adopt, _ := arg.(workflows.Adopt)
	if adopt.Cluster == a.unreachable && a.unreachable != "" {
		return nil, serviceerror.NewUnavailable("no connection")
	}
	a.adopts = append(a.adopts, adopt)
	return nil, nil
}

// run runs a command line against it.
func (a *emptyTemporal) run(t *testing.T, in activities.Reader, want int, words ...string) string {
	t.Helper()
	return execute(t, fakeApp(a, in), want, append(words, "--who", "ada", "--ui-url", "http://ui")...)
}

// orphaned is a Karmada in which Lifeboat hold tasks of these clusters are on cart.
type orphaned struct {
	held
	clusters []string
}

func (a orphaned) Bindings(ctx context.Context, page activities.Page) (activities.BindingPage, error) {
	p, err := a.held.Bindings(ctx, page)
	for _, cluster := range a.clusters {
		task := karmada.Task{FromCluster: cluster, Producer: karmada.Producer, Reason: karmada.TaskReason, Message: "gone"}
		p.Bindings[1].Tasks = append(p.Bindings[1].Tasks, task)
	}
	return p, err
}

func (a orphaned) Binding(ctx context.Context, _ karmada.BindingKey) (karmada.Binding, error) {
	p, err := a.Bindings(ctx, activities.Page{})
	return p.Bindings[1], err
}

// Rules: R4.9-55.
func TestAdopt_ConfirmsOnceAndListsTheFailovers(t *testing.T) {
	server := &emptyTemporal{}
	out := server.run(t, orphaned{clusters: []string{"member1"}}, process.ExitUsage, "adopt")
	require.Contains(t, out, "--reason")

	out = server.run(t, orphaned{clusters: []string{"member1"}}, process.ExitRefused, "adopt", "--reason", "x")
	fixtures.ContainsAll(t, out, "hold task on shop/cart-deployment: its owner gone does not run", "add --yes")
	require.Empty(t, server.adopts)

	out = server.run(t, orphaned{clusters: []string{"member1"}}, process.ExitOK, "adopt", "--reason", "x", "--yes")
	fixtures.ContainsAll(t, out, "cluster-failover/member1", "http://ui/namespaces/lifeboat/workflows/", "not changed: ")
	require.Equal(t, workflows.Order{Who: "ada", Reason: "x"}, server.adopts[0].By)

	out = server.run(t, orphaned{clusters: []string{"member1"}}, process.ExitOK, "adopt", "member1", "--reason", "x", "--yes", "-o", "json")
	var said adoptAnswer
	require.NoError(t, json.Unmarshal([]byte(out), &said), out)
	require.Equal(t, "member1", said.Adopted[0].Cluster)
	require.Equal(t, "cart-deployment", said.Orphans[0].Tasks[0].Binding.Key.Name)
	require.NotEmpty(t, said.NotChanged)
}

// Adopting again signals the same failovers once more.
// Rules: R4.9-55.
func TestAdopt_StoppedByAnError_ListsTheFailoversBefore(t *testing.T) {
	server := &emptyTemporal{unreachable: "member2"}
	out := server.run(t, orphaned{clusters: []string{"member1", "member2"}}, process.ExitFailed, "adopt", "--reason", "x", "--yes")
	require.Len(t, server.adopts, 1)
	fixtures.ContainsAll(t, out, "cluster-failover/member2", "signalled before it: member1")

	server = &emptyTemporal{unreachable: "member1"}
	out = server.run(t, orphaned{clusters: []string{"member1", "member2"}}, process.ExitFailed, "adopt", "--reason", "x", "--yes")
	require.Contains(t, out, "no failover was signalled before it")
}

// Rules: R4.9-55.
func TestAdopt_NoOrphans_SignalsNoFailover(t *testing.T) {
	server := &emptyTemporal{}
	for _, line := range []string{"adopt", "adopt member2"} {
		out := server.run(t, fleet{}, process.ExitOK, append(strings.Fields(line), "--reason", "x")...)
		require.Contains(t, out, "Nothing of Lifeboat's is without an owner")
	}
	out := server.run(t, fleet{}, process.ExitNotFound, "adopt", "membr1", "--reason", "x")
	require.Contains(t, out, "no such cluster: membr1; did you mean member1")
	server.run(t, orphaned{clusters: []string{"deleted"}}, process.ExitOK, "adopt", "deleted", "--reason", "x", "--yes")
	require.Equal(t, "deleted", server.adopts[0].Cluster)
	server.adopts = nil
	server.run(t, fleet{}, process.ExitUsage, "adopt", "fleet", "--reason", "x")
	require.Empty(t, server.adopts)
}
