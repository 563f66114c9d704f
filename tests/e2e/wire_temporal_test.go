package e2e

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.temporal.io/api/command/v1"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// nobody is where a proxy tells of connections that it was told to drop.
func nobody() *log.Logger { return log.New(io.Discard, "", 0) }

// tasks knows whom a task token that came by belongs to: an answer carries only the token.
type tasks struct {
	mu    sync.Mutex
	names map[string]string
}

// toTemporal opens a wire to a Temporal server.
func toTemporal(who, address string) *wire {
	t := &tasks{names: map[string]string{}}
	w := &wire{who: who, whom: "Temporal", effect: t.effect, learn: t.learn}
	clear := new(http.Protocols)
	clear.SetUnencryptedHTTP2(true)
	w.open(&url.URL{Scheme: "http", Host: address}, &http.Transport{Protocols: clear, DisableCompression: true},
		func(s *httptest.Server) {
			s.Config.Protocols = clear
			s.Start()
		})
	return w
}

// address is what a Temporal client dials.
func (w *wire) address() string { return strings.TrimPrefix(w.server.URL, "http://") }

// messageOf decodes the one message of a gRPC call or answer; nil when it cannot be.
func messageOf(method, kind string, frame []byte) proto.Message {
	known, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName("temporal.api.workflowservice.v1." + method + kind))
	const header = 5 // a flag and the length
	if err != nil || len(frame) < header {
		return nil
	}
	content := frame[header:]
	if frame[0] == 1 {
		unpacked, err := gzip.NewReader(bytes.NewReader(content))
		if err != nil {
			return nil
		}
		if content, err = io.ReadAll(unpacked); err != nil {
			return nil
		}
	}
	message := known.New().Interface()
	if proto.Unmarshal(content, message) != nil {
		return nil
	}
	return message
}

// effect is what a call does to which workflow.
func (t *tasks) effect(r *http.Request, body []byte) (effect, bool) {
	method := path.Base(r.URL.Path)
	message := messageOf(method, "Request", body)
	switch m := message.(type) {
	case *workflowservice.RespondWorkflowTaskCompletedRequest:
		did, says := commands(m.GetCommands())
		return effect{method + " " + t.of(m.GetTaskToken()) + " " + did, says}, did != ""
	case *workflowservice.RespondActivityTaskCompletedRequest:
		of := t.of(m.GetTaskToken())
		e := effect{name: method + " " + of}
		if glances(of[strings.LastIndex(of, " ")+1:]) {
			e.says = plainly(m.GetResult())
		}
		return e, true
	case *workflowservice.RespondActivityTaskFailedRequest:
		return effect{name: method + " " + t.of(m.GetTaskToken())}, true
	case *workflowservice.StartWorkflowExecutionRequest:
		return effect{name: method + " " + m.GetWorkflowId()}, true
	case *workflowservice.SignalWithStartWorkflowExecutionRequest:
		return effect{method + " " + m.GetWorkflowId() + " " + m.GetSignalName(), plainly(m.GetSignalInput())}, true
	case *workflowservice.SignalWorkflowExecutionRequest:
		return effect{method + " " + m.GetWorkflowExecution().GetWorkflowId() + " " + m.GetSignalName(), plainly(m.GetInput())}, true
	case *workflowservice.UpdateWorkflowExecutionRequest:
		return effect{name: method + " " + m.GetWorkflowExecution().GetWorkflowId() + " " + m.GetRequest().GetInput().GetName()}, true
	case *workflowservice.ExecuteMultiOperationRequest:
		for _, each := range m.GetOperations() {
			if start := each.GetStartWorkflow(); start != nil {
				return effect{name: method + " " + start.GetWorkflowId()}, true
			}
		}
		return effect{name: method}, true
	default:
		return effect{}, false
	}
}

// lookers are the activities that only look.
var lookers = []string{
	"AssessApplication", "AssessCluster", "AssessFleet", "AssessPolicies", "FindOrphans", "ListTargeting", "Observe", "ObserveWork", "PreCheck", "RecallPacer",
}

func glances(activity string) bool { return slices.Contains(lookers, activity) }

// varies is what is different each time that something is said again: times, versions,
// and what is left of some time, in nanoseconds.
var varies = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[^"]*"|"resourceVersion":"\d+"|\d{7,}`)

// plainly is what some payloads say, but for what varies. It is never empty.
func plainly(all *common.Payloads) string {
	said := "said"
	for _, each := range all.GetPayloads() {
		said += " " + varies.ReplaceAllString(string(each.GetData()), "_")
	}
	return said
}

// commands are what a workflow task decided, without timers and what is only for show, of
// which there are as many as the moment wants; and without looks, whose answers are the
// effects. A task that only sends signals says what they say.
func commands(all []*command.Command) (did, says string) {
	var names []string
	signals := ""
	only := true
	for _, c := range all {
		name := commandName(c)
		if name == "" {
			continue
		}
		if s := c.GetSignalExternalWorkflowExecutionCommandAttributes(); s != nil {
			signals += name + " " + plainly(s.GetInput())
		} else {
			only = false
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if only {
		says = signals
	}
	return strings.Join(names, "+"), says
}

// commandName is empty where a command is no effect.
func commandName(c *command.Command) string {
	activity := c.GetScheduleActivityTaskCommandAttributes().GetActivityType().GetName()
	switch {
	case activity != "" && !glances(activity):
		return activity
	case c.GetSignalExternalWorkflowExecutionCommandAttributes() != nil:
		return "signal:" + c.GetSignalExternalWorkflowExecutionCommandAttributes().GetSignalName()
	case c.GetProtocolMessageCommandAttributes() != nil:
		return "update"
	case c.GetCompleteWorkflowExecutionCommandAttributes() != nil:
		return "complete"
	case c.GetContinueAsNewWorkflowExecutionCommandAttributes() != nil:
		return "continue-as-new"
	}
	return ""
}

func (t *tasks) of(token []byte) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.names[string(token)]
}

func (t *tasks) know(token []byte, execution *common.WorkflowExecution, what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(token) > 0 {
		t.names[string(token)] = strings.TrimSpace(execution.GetWorkflowId() + " " + what)
	}
}

// learn reads the tasks that a server hands out.
func (t *tasks) learn(r *http.Response) error {
	method := path.Base(r.Request.URL.Path)
	if !strings.HasPrefix(method, "Poll") && method != "RespondWorkflowTaskCompleted" {
		return nil
	}
	content, err := io.ReadAll(r.Body)
	if err = errors.Join(err, r.Body.Close()); err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(content))
	switch m := messageOf(method, "Response", content).(type) {
	case *workflowservice.PollWorkflowTaskQueueResponse:
		t.know(m.GetTaskToken(), m.GetWorkflowExecution(), "")
	case *workflowservice.PollActivityTaskQueueResponse:
		t.activity(m)
	case *workflowservice.RespondWorkflowTaskCompletedResponse:
		t.know(m.GetWorkflowTask().GetTaskToken(), m.GetWorkflowTask().GetWorkflowExecution(), "")
		for _, eager := range m.GetActivityTasks() {
			t.activity(eager)
		}
	}
	return nil
}

func (t *tasks) activity(m *workflowservice.PollActivityTaskQueueResponse) {
	t.know(m.GetTaskToken(), m.GetWorkflowExecution(), m.GetActivityType().GetName())
}
