package k8sadapter

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answered is what a real Karmada once answered.
func answered(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "answers", name+".json"))
	require.NoError(t, err)
	return string(raw)
}

// An admission webhook is called before the object is stored: when it cannot be called the
// write certainly does not stand. Any other internal error may follow the store.
//
// Rules: R4.7-42.
func TestClassify_WebhookThatCannotBeCalled_IsRefused(t *testing.T) {
	status := func(reason, message string, code int) string {
		return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":%q,"code":%d}`, reason, message, code)
	}
	for name, c := range map[string]struct {
		body string
		want error
	}{
		"nobody listens": {body: answered(t, "webhook_down"), want: karmada.ErrRefused},
		"no answer":      {body: answered(t, "webhook_hangs"), want: karmada.ErrRefused},
		"a conversion webhook, after the store": {
			body: status("InternalError", `Internal error occurred: conversion webhook for work.karmada.io/v1alpha1, Kind=ResourceBinding failed: Post "https://x"`, 500),
			want: karmada.ErrUnreachable,
		},
		"the text in the middle of another error": {
			body: status("InternalError", `etcdserver: request timed out; failed calling webhook "x"`, 500), want: karmada.ErrUnreachable,
		},
		"the text under another reason": {
			body: status("Timeout", `Internal error occurred: failed calling webhook "x"`, 500), want: karmada.ErrUnreachable,
		},
		"the text of a proxy": {
			body: status("InternalError", `Internal error occurred: failed calling webhook "x"`, 502), want: karmada.ErrUnreachable,
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				var answered struct{ Code int }
				assert.NoError(t, json.Unmarshal([]byte(c.body), &answered))
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(answered.Code)
				_, _ = io.WriteString(w, c.body)
			}), Options{})
			_, err := client.Evict(t.Context(), activities.EvictWrite{Binding: decoded(t, shared), Cluster: "m1", Now: at})
			require.ErrorIs(t, err, c.want)
			require.Equal(t, errors.Is(c.want, karmada.ErrUnreachable), errors.Is(err, karmada.ErrUnreachable))
			require.ErrorContains(t, err, "failed")
		})
	}
}

// The bindings and Works are those of a real Karmada: the labels of a workload stand in its
// Work alone.
//
// Rules: R4.12-5.
func TestWorkloadLabels_OfRealWorks_AreThoseOfTheManifest(t *testing.T) {
	const works = "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-member1/works"
	server := &apiServer{objects: map[string]string{
		works: answered(t, "works_member1"),
		"/apis/work.karmada.io/v1alpha2/resourcebindings": answered(t, "resourcebindings"),
	}}
	client := connect(t, server, Options{})
	page, err := client.Bindings(t.Context(), activities.Page{})
	require.NoError(t, err)
	require.Len(t, page.Bindings, 4)
	bindings := make([]*karmada.Binding, 0, len(page.Bindings)+2)
	for i := range page.Bindings {
		require.NotContains(t, page.Bindings[i].Labels, "app", "Karmada copies no label of the workload to the binding")
		bindings = append(bindings, &page.Bindings[i])
	}
	away := karmada.Binding{Key: karmada.BindingKey{Namespace: "default", Name: "away"}, Labels: map[string]string{labelPermanentID: "no-such-id"}}
	bindings = append(bindings, &away, &karmada.Binding{Key: karmada.BindingKey{Namespace: "default", Name: "without-id"}})

	found, err := client.WorkloadLabels(t.Context(), bindings, "member1")
	require.NoError(t, err)
	app := map[string]string{}
	for key, labels := range found {
		require.NotNil(t, labels)
		app[key.Name] = labels["app"]
	}
	require.Equal(t, map[string]string{"div-deployment": "div", "one-deployment": "one", "only1-deployment": "only1", "onecfg-configmap": ""}, app,
		"what has no Work there, or no id, is left out")
	drain := karmada.Drain{Selector: "app=one"}
	for _, b := range bindings {
		require.False(t, drain.Selects(b))
		b.WorkloadLabels = found[b.Key]
		require.Equal(t, b.Key.Name == "one-deployment", drain.Selects(b), b.Key.Name)
	}
}

// Rules: R4.12-5.
func TestWorkloadLabels_AsksForFewWorksAtOnce(t *testing.T) {
	const works = "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works"
	work := func(id, more, label string) string {
		return fmt.Sprintf(`{"metadata":{"name":"w","uid":"u","labels":{%q:%q}%s},"spec":{"workload":{"manifests":[{"metadata":{"labels":{"app":%s}}}]}}}`,
			labelPermanentID, id, more, label)
	}
	server := &apiServer{objects: map[string]string{works: `{"metadata":{},"items":[` + strings.Join([]string{
		work("id0", `,"deletionTimestamp":"2026-01-01T00:00:00Z"`, `"old"`), work("id0", "", `"new"`), work("id0", `,"deletionTimestamp":"2026-01-01T00:00:00Z"`, `"older"`),
		work("id1", "", `{}`), work("never-asked", "", `"x"`),
	}, ",") + `]}`}}
	client := connect(t, server, Options{})
	var bindings []*karmada.Binding
	for n := range idsPerList + 1 {
		key := karmada.BindingKey{Namespace: "n", Name: strconv.Itoa(n)}
		bindings = append(bindings, &karmada.Binding{Key: key, Labels: map[string]string{labelPermanentID: "id" + strconv.Itoa(n)}})
	}
	found, err := client.WorkloadLabels(t.Context(), bindings, "m1")
	require.NoError(t, err)
	require.Equal(t, map[karmada.BindingKey]map[string]string{bindings[0].Key: {"app": "new"}}, found,
		"the Work that stays counts, and what cannot be understood has no known labels")
	require.Len(t, server.requests, 2)
	for _, r := range server.requests {
		require.Less(t, len(r), 4096)
	}

	server.objects = nil
	_, err = client.WorkloadLabels(t.Context(), bindings[:1], "m1")
	require.Error(t, err)
}
