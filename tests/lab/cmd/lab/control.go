package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/lab/ledger"
	"github.com/lifeboat-failover/lifeboat/tests/lab/server"
)

// controlPlane is the Karmada that the control server drives, simulated or real.
type controlPlane interface {
	Kill(member string) error
	Revive(member string) error
	Garble(member string, garbled bool) error
	Join(member karmada.MemberSpec) error
	Leave(member string) error
	Knobs() karmada.Knobs
	SetKnobs(knobs karmada.Knobs) error
	Members() []karmada.MemberStatus
	StopControllers()
	StartControllers() error
	Close() error
}

// status is what GET /status answers.
type status struct {
	Lab     state                  `json:"lab"`
	Servers []serverStatus         `json:"servers"`
	Knobs   karmada.Knobs          `json:"knobs"`
	Members []karmada.MemberStatus `json:"members"`
}

// serverStatus is one of the lab's real servers.
type serverStatus struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
}

// control lets other processes change and inspect a running lab, on loopback.
type control struct {
	sim     controlPlane
	servers *server.Servers
	ledger  *ledger.Recorder // nil unless asked for
	logger  *slog.Logger
	// state is complete before the first request is served.
	state state

	// knobs keeps two changes at once from overwriting each other.
	knobs sync.Mutex
}

// serve answers control requests until the returned server is closed.
func (c *control) serve(listener net.Listener) *http.Server {
	httpServer := &http.Server{Handler: c.routes(), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := httpServer.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			c.logger.Error("control server ended", "error", err)
		}
	}()
	return httpServer
}

// routes are the control API. "member" and "server" are query parameters; /join takes a member as
// JSON, /knobs the knobs to change. /crash kills etcd, kube-apiserver or temporal and restarts it on
// its stored data (needs --durable); /lose-temporal restarts Temporal without any. With three etcd
// members, /lose-etcd-leader and /lose-etcd-follower kill one, /return-etcd restarts it. /snapshot and
// /restore save and restore etcd, resourceVersions included; the simulated Karmada's controllers then
// wait for /start-controllers. With a ledger, GET /ledger?after=SEQ&wait=5s is the timeline, and POST
// /ledger/judge takes a ledger.Question and answers with a ledger.Verdict.
func (c *control) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, c.status()) })
	mux.HandleFunc("GET /knobs", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, c.sim.Knobs()) })
	mux.HandleFunc("POST /knobs", c.act(c.setKnobs))
	mux.HandleFunc("POST /join", c.act(c.join))
	mux.HandleFunc("POST /kill", c.act(memberAct(c.sim.Kill)))
	mux.HandleFunc("POST /revive", c.act(memberAct(c.sim.Revive)))
	mux.HandleFunc("POST /garble", c.act(memberAct(func(member string) error { return c.sim.Garble(member, true) })))
	mux.HandleFunc("POST /ungarble", c.act(memberAct(func(member string) error { return c.sim.Garble(member, false) })))
	mux.HandleFunc("POST /leave", c.act(memberAct(c.sim.Leave)))
	mux.HandleFunc("POST /crash", c.act(func(r *http.Request) error {
		return c.servers.Crash(r.Context(), r.URL.Query().Get("server"))
	}))
	mux.HandleFunc("POST /lose-temporal", c.act(func(r *http.Request) error { return c.servers.LoseTemporal(r.Context()) }))
	mux.HandleFunc("POST /snapshot", c.act(func(r *http.Request) error { return c.servers.Snapshot(r.Context()) }))
	mux.HandleFunc("POST /restore", c.act(func(r *http.Request) error {
		c.sim.StopControllers()
		return c.servers.Restore(r.Context())
	}))
	mux.HandleFunc("POST /lose-etcd-leader", c.act(func(r *http.Request) error { return c.servers.LoseEtcd(r.Context(), true) }))
	mux.HandleFunc("POST /lose-etcd-follower", c.act(func(r *http.Request) error { return c.servers.LoseEtcd(r.Context(), false) }))
	mux.HandleFunc("POST /return-etcd", c.act(func(r *http.Request) error { return c.servers.ReturnEtcd(r.Context()) }))
	mux.HandleFunc("POST /start-controllers", c.act(func(*http.Request) error { return c.sim.StartControllers() }))
	mux.HandleFunc("GET /ledger", c.timeline)
	mux.HandleFunc("POST /ledger/judge", c.judge)
	return mux
}

// act runs one change and answers 200 with the members as they are afterwards,
// or 400 with the reason.
func (c *control) act(do func(*http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := do(r); err != nil {
			c.logger.Warn("refused", "request", r.URL.String(), "error", err)
			answer(w, http.StatusBadRequest, failure{Error: err.Error()})
			return
		}
		c.logger.Info("done", "request", r.URL.String())
		answer(w, http.StatusOK, c.status())
	}
}

// failure is the body of every answer that is not 200.
type failure struct {
	Error string `json:"error"`
}

func memberAct(do func(member string) error) func(*http.Request) error {
	return func(r *http.Request) error {
		member := r.URL.Query().Get("member")
		if member == "" {
			return errors.New("the parameter member is missing")
		}
		return do(member)
	}
}

func (c *control) join(r *http.Request) error {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	var member karmada.MemberSpec
	if err := decoder.Decode(&member); err != nil {
		return fmt.Errorf("decode member: %w", err)
	}
	if member.Name == "" {
		return errors.New("the member has no name")
	}
	return c.sim.Join(member)
}

func (c *control) setKnobs(r *http.Request) error {
	var changes map[string]any
	if err := json.NewDecoder(r.Body).Decode(&changes); err != nil {
		return fmt.Errorf("decode knobs: %w", err)
	}
	c.knobs.Lock()
	defer c.knobs.Unlock()
	knobs, err := mergeKnobs(c.sim.Knobs(), changes)
	if err != nil {
		return err
	}
	return c.sim.SetKnobs(knobs)
}

func (c *control) status() status {
	members := c.sim.Members()
	s := status{Lab: c.state, Knobs: c.sim.Knobs(), Members: members}
	s.Lab.Members = memberStates(members)
	for _, process := range c.servers.Processes() {
		s.Servers = append(s.Servers, serverStatus{Name: process.Name(), PID: process.PID()})
	}
	return s
}

func memberStates(members []karmada.MemberStatus) []memberState {
	states := make([]memberState, len(members))
	for i, member := range members {
		states[i] = memberState{Name: member.Name, Readyz: member.Readyz}
	}
	return states
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// The caller is gone when this fails; there is nobody left to tell.
	_ = json.NewEncoder(w).Encode(body)
}

// closeControl lets requests that are being served finish.
func closeControl(s *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return s.Shutdown(ctx)
}
