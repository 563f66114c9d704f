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

// effect names what a call does to which workflow.
func (t *tasks) effect(r *http.Request, body []byte) (string, bool) {
	method := path.Base(r.URL.Path)
	message := messageOf(method, "Request", body)
	switch m := message.(type) {
	case *workflowservice.RespondWorkflowTaskCompletedRequest:
		did := commands(m.GetCommands())
		return method + " " + t.of(m.GetTaskToken()) + " " + did, did != ""
	case *workflowservice.RespondActivityTaskCompletedRequest, *workflowservice.RespondActivityTaskFailedRequest:
		return method + " " + t.of(m.(interface{ GetTaskToken() []byte }).GetTaskToken()), true //nolint:errcheck,forcetypeassert // both have one
	case *workflowservice.SignalWithStartWorkflowExecutionRequest:
		return method + " " + m.GetWorkflowId() + " " + m.GetSignalName(), true
	case *workflowservice.SignalWorkflowExecutionRequest:
		return method + " " + m.GetWorkflowExecution().GetWorkflowId() + " " + m.GetSignalName(), true
	case *workflowservice.UpdateWorkflowExecutionRequest:
		return method + " " + m.GetWorkflowExecution().GetWorkflowId() + " " + m.GetRequest().GetInput().GetName(), true
	case *workflowservice.ExecuteMultiOperationRequest:
		for _, each := range m.GetOperations() {
			if start := each.GetStartWorkflow(); start != nil {
				return method + " " + start.GetWorkflowId(), true
			}
		}
		return method, true
	default:
		return "", false
	}
}

// commands are what a workflow task decided, without timers and what is only for show:
// how many of those there are depends on the moment.
func commands(all []*command.Command) string {
	var did []string
	for _, c := range all {
		var what string
		switch {
		case c.GetScheduleActivityTaskCommandAttributes() != nil:
			what = c.GetScheduleActivityTaskCommandAttributes().GetActivityType().GetName()
		case c.GetStartChildWorkflowExecutionCommandAttributes() != nil:
			what = "child:" + c.GetStartChildWorkflowExecutionCommandAttributes().GetWorkflowId()
		case c.GetSignalExternalWorkflowExecutionCommandAttributes() != nil:
			what = "signal:" + c.GetSignalExternalWorkflowExecutionCommandAttributes().GetSignalName()
		case c.GetCompleteWorkflowExecutionCommandAttributes() != nil:
			what = "complete"
		case c.GetContinueAsNewWorkflowExecutionCommandAttributes() != nil:
			what = "continue-as-new"
		}
		if what != "" && !slices.Contains(did, what) {
			did = append(did, what)
		}
	}
	return strings.Join(did, "+")
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
