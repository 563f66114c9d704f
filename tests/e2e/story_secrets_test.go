package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// hushed is the namespace in Temporal where the story takes place.
const hushed = "hushed"

// confided is said by an operator and stands in no name: encrypted or not, it is seen.
const confided = "because-of-what-only-jane-knows"

// secretsStay has a cluster fail while Temporal asks for certificates and an API key,
// all that goes there is encrypted, and every secret is exchanged half way, with nobody
// restarted. Then everything that Lifeboat left anywhere is searched for them.
func secretsStay(s *scene) {
	v := s.newVault()
	s.behind(v)
	from, to := s.c(1), s.c(2)
	const toleration = 15 * time.Second
	s.rule(time.Second, time.Second)
	app := s.deploy("app", from, 1, tolerating(oneOf(from, to), toleration))

	s.kill(from)
	s.phase(from, "Evacuating")
	s.order("pause", from, "--reason", confided)
	v.exchange(s)
	s.order("resume", from, "--reason", confided)
	s.phase(from, "Evacuated")
	s.wrongAsked(v)
	s.recovers(from, map[string]string{app: "Migrated"})
	require.Contains(s, s.toldByCodec(from), confided, "who has the keys reads it")

	left := s.leftAnywhere(v)
	require.Contains(s, left["history of "+failoverID(from)+", decrypted"], confided)
	for where, text := range left {
		for what, secret := range v.secrets {
			stands := strings.Contains(text, secret) // megabytes, which no failure should print
			require.False(s, stands, "%s stands in the %s", what, where)
		}
		if !strings.HasSuffix(where, ", decrypted") && !strings.HasPrefix(where, "log ") {
			stands := strings.Contains(text, confided)
			require.False(s, stands, "the reason stands in the %s", where)
		}
	}
}

// behind restarts the product with a vault: in a namespace of its own, for what is
// encrypted there nobody else reads.
func (s *scene) behind(v *vault) {
	require.NoError(s, s.stopProduct())
	file := func(name string) string { return filepath.Join(v.folder, name) }
	s.env = []string{
		"TEMPORAL_ADDRESS=" + v.door.Address, "TEMPORAL_NAMESPACE=" + hushed,
		"TEMPORAL_TLS_SERVER_CA_CERT_PATH=" + file("ca.crt"),
		"TEMPORAL_TLS_CLIENT_CERT_PATH=" + file("tls.crt"), "TEMPORAL_TLS_CLIENT_KEY_PATH=" + file("tls.key"),
		"LIFEBOAT_TEMPORAL_API_KEY_FILE=" + v.apiKey, "LIFEBOAT_ENCRYPTION_KEY_FILE=" + v.keyFile,
		"LIFEBOAT_ENCRYPTION_REFUSE_CLEAR=true", // of what Lifeboat itself sends nothing is in the clear
	}
	s.more = []string{
		"listen.tlsCertFile=" + file("metrics/tls.crt"), "listen.tlsKeyFile=" + file("metrics/tls.key"),
	}
	s.secure = &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: v.own.Pool()}, DisableKeepAlives: true,
	}}
	s.setUp()
	s.Cleanup(func() {
		require.NoError(s, s.stopProduct())
		s.env, s.more, s.secure = nil, nil, nil
		s.look(s.lab.At.TemporalNamespace, nil)
	})
	s.look(hushed, converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), v.codec))
	require.NoError(s, s.inMode(s.ctx, "enforce"))
}

// look has the story itself ask about another namespace, by the lab's own door.
func (s *scene) look(namespace string, by converter.DataConverter) {
	s.temporal.Close()
	c, err := client.DialContext(context.Background(), client.Options{ // also when the story's own has ended
		HostPort: s.lab.At.TemporalAddress, Namespace: namespace, Logger: silent, DataConverter: by,
	})
	require.NoError(s, err)
	s.temporal = temporal{c}
}

// wrongAsked has the CLI fail in the ways in which a secret might be said.
func (s *scene) wrongAsked(v *vault) {
	wrong := filepath.Join(v.folder, "wrong")
	const typed = "mistyped-and-still-secret"
	v.secrets["what is wrong"] = typed
	require.NoError(s, os.WriteFile(wrong, []byte(typed), 0o600))
	require.NoError(s, os.WriteFile(wrong+"-two", []byte(typed+" "+typed), 0o600))
	require.NoError(s, os.WriteFile(wrong+"-config", []byte(`{"apiVersion":"v1","kind":"Config","users":[{"name":"u","user":{"token":"`+typed+`"`), 0o600))
	for _, args := range [][]string{
		{"status", "--set", "temporal.apiKeyFile=" + wrong},
		{"status", "--set", "temporal.apiKeyFile=" + wrong + "-two"},
		{"status", "--set", "encryption.keyFile=" + wrong},
		{"status", "--set", "encryption.keyFile=" + wrong + "-two"},
		{"plan", s.c(1), "--kubeconfig", wrong + "-config"},
	} {
		cmd := s.lifeboat(args[0], s.lab.At.Kubeconfigs["operator"], args[1:]...)
		require.Error(s, cmd.Run(), args)
	}
	require.Positive(s, v.door.turnedAway(), "the wrong API key was sent")
}

// toldByCodec has lifeboat codec decrypt all payloads of a failover's history for a page
// of the UI, and returns what it said.
func (s *scene) toldByCodec(cluster string) string {
	address, err := freeAddress(s.ctx)
	require.NoError(s, err)
	args := []string{"--listen", address}
	for _, setting := range s.more { // its certificate
		args = append(args, "--set", setting)
	}
	cmd := s.lifeboat("codec", s.lab.At.Kubeconfigs["operator"], args...)
	p, err := launch("codec", s.logFile("codec"), cmd)
	require.NoError(s, err)
	defer func() { require.NoError(s, p.stop()) }()

	events := s.history(failoverID(cluster), "")
	body, err := protojson.Marshal(&commonpb.Payloads{Payloads: s.payloads(events, true)})
	require.NoError(s, err)
	var told strings.Builder
	s.awaitQuietly("the codec server answers", func() (bool, string) {
		request, err := http.NewRequestWithContext(s.ctx, http.MethodPost, "https://"+address+"/decode", bytes.NewReader(body))
		require.NoError(s, err)
		request.Header.Set("Origin", "http://127.0.0.1:8233")
		response, err := s.secure.Do(request)
		if err != nil {
			return false, err.Error()
		}
		defer response.Body.Close() //nolint:errcheck // read only
		require.Equal(s, http.StatusOK, response.StatusCode)
		var opened struct{ Payloads []*commonpb.Payload }
		require.NoError(s, json.NewDecoder(response.Body).Decode(&opened))
		for _, p := range opened.Payloads {
			told.Write(p.GetData())
		}
		return true, ""
	})
	return told.String()
}

func (s *scene) history(id, run string) *historypb.History {
	return &historypb.History{Events: s.eventsOf(id, run)}
}

// payloads are all that stand anywhere in a message; search attributes, which the server
// has to read, only where they are asked for.
func (s *scene) payloads(in proto.Message, searchable bool) []*commonpb.Payload {
	var all []*commonpb.Payload
	require.NoError(s, proxy.VisitPayloads(s.ctx, in, proxy.VisitPayloadsOptions{
		SkipSearchAttributes: !searchable,
		Visitor: func(_ *proxy.VisitPayloadsContext, some []*commonpb.Payload) ([]*commonpb.Payload, error) {
			all = append(all, some...)
			return some, nil
		},
	}))
	return all
}

// text is a message with what its payloads hold.
func (s *scene) text(in proto.Message, payloads []*commonpb.Payload) string {
	var text strings.Builder
	raw, err := protojson.Marshal(in)
	require.NoError(s, err)
	text.Write(raw)
	for _, p := range payloads {
		text.WriteByte('\n')
		text.Write(p.GetData())
	}
	return text.String()
}

// leftAnywhere is everything that Lifeboat has left so far, in this story and those
// before, by where it stands. What is encrypted is there twice. In the namespace of this
// story all is: but for the search attributes.
func (s *scene) leftAnywhere(v *vault) map[string]string {
	left := map[string]string{}
	sealed := s.leftInTemporal(v, hushed, left)
	require.Greater(s, sealed, 20, "payloads were encrypted")
	s.look(s.lab.At.TemporalNamespace, nil)
	s.leftInTemporal(nil, s.lab.At.TemporalNamespace, left)

	require.NoError(s, filepath.WalkDir(s.folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".log" {
			return err
		}
		content, err := os.ReadFile(path)
		left["log "+filepath.Base(path)] = string(content)
		return err
	}))
	require.Contains(s, left, "log worker.log")
	require.Contains(s, left["log worker.log"], `"apiVersion":"audit.lifeboat.dev/v1"`, "the audit trail is among them")
	for _, p := range []*process{s.controller, s.worker} {
		status, text, err := fetch(s.ctx, s.secure, p.url+"/metrics")
		require.NoError(s, err)
		require.Equal(s, http.StatusOK, status)
		left["metrics of the "+p.name] = text
	}
	for _, resource := range []schema.GroupVersionResource{events, clusters, resourceBindings, rules} {
		list, err := s.api.Resource(resource).List(s.ctx, metav1.ListOptions{})
		require.NoError(s, err)
		raw, err := list.MarshalJSON()
		require.NoError(s, err)
		left[resource.Resource] = string(raw)
	}
	return left
}

// leftInTemporal adds histories, memos and pages. Where there is a vault all must be
// encrypted; it counts how many payloads were.
func (s *scene) leftInTemporal(v *vault, namespace string, left map[string]string) (sealed int) {
	runs, err := s.temporal.ListWorkflow(s.ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace, PageSize: 1000})
	require.NoError(s, err)
	for _, run := range runs.GetExecutions() {
		id := run.GetExecution().GetWorkflowId()
		described, err := s.temporal.DescribeWorkflowExecution(s.ctx, id, run.GetExecution().GetRunId())
		require.NoError(s, err)
		for kind, message := range map[string]proto.Message{
			"history of " + id: s.history(id, run.GetExecution().GetRunId()), "description of " + id: described,
		} {
			left[kind] += s.text(message, s.payloads(message, true))
			if v == nil {
				continue
			}
			for _, p := range s.payloads(message, false) {
				require.Equal(s, "binary/encrypted", string(p.GetMetadata()["encoding"]), "the %s has %s", kind, p)
				sealed++
			}
			opened, err := v.codec.Decode(s.payloads(message, false))
			require.NoError(s, err)
			left[kind+", decrypted"] += s.text(message, opened)
		}
	}
	return sealed
}
