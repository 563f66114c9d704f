package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	enumspb "go.temporal.io/api/enums/v1"
)

// options is what the command line asked for.
type options struct {
	namespace        string
	ports            ports
	uiPort           int
	dbFile           string
	postgres         string
	logLevel         string
	searchAttributes map[string]enumspb.IndexedValueType
}

func main() {
	opts, err := parseFlags(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(opts)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "temporal-dev:", err)
		os.Exit(1)
	}
}

// run serves until SIGINT or SIGTERM, then stops in order.
func run(opts options) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)

	server, err := newServer(opts)
	if err != nil {
		return fmt.Errorf("prepare temporal server: %w", err)
	}
	if err := server.Start(); err != nil {
		return fmt.Errorf("start temporal server: %w", err)
	}
	fmt.Printf("temporal-dev: serving namespace %q on %s\n", opts.namespace, loopback(opts.ports.frontend))
	if opts.uiPort != 0 {
		ui := newUI(opts)
		defer ui.Stop()
		go func() {
			// Start returns only when the UI is stopped; a port that cannot be
			// bound ends the process inside it.
			_ = ui.Start()
		}()
		fmt.Printf("temporal-dev: UI on http://%s\n", loopback(opts.uiPort))
	}
	<-stop
	if err := server.Stop(); err != nil {
		return fmt.Errorf("stop temporal server: %w", err)
	}
	return nil
}

func parseFlags(args []string) (options, error) {
	opts := options{searchAttributes: map[string]enumspb.IndexedValueType{}}
	flags := flag.NewFlagSet("temporal-dev", flag.ContinueOnError)
	address := flags.String("address", "127.0.0.1:7233", "host:port of the frontend (gRPC); the host must be 127.0.0.1")
	flags.IntVar(&opts.ports.frontendHTTP, "http-port", 0, "port of the frontend's HTTP API; 0 = any free one")
	flags.StringVar(&opts.namespace, "namespace", "lifeboat", "namespace to create")
	flags.IntVar(&opts.uiPort, "ui-port", 0, "port of the web UI; 0 = no UI")
	flags.StringVar(&opts.dbFile, "db-file", "", "SQLite file to keep state in; empty = memory")
	flags.StringVar(&opts.postgres, "postgres", "", "postgres://USER@HOST:PORT/DATABASE?passfile=FILE to keep state in")
	flags.StringVar(&opts.logLevel, "log-level", "warn", "debug, info, warn or error")
	flags.Func("search-attribute", "Name=Type to register, e.g. LifeboatCluster=Keyword (repeatable)", func(value string) error {
		return addSearchAttribute(opts.searchAttributes, value)
	})
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	err := opts.ports.choose(*address)
	return opts, err
}

func addSearchAttribute(into map[string]enumspb.IndexedValueType, value string) error {
	name, kind, found := strings.Cut(value, "=")
	if !found || name == "" {
		return fmt.Errorf("want Name=Type, got %q", value)
	}
	kindValue, err := enumspb.IndexedValueTypeFromString(kind)
	if err != nil || kindValue == enumspb.INDEXED_VALUE_TYPE_UNSPECIFIED {
		return fmt.Errorf("unknown type %q of search attribute %q: want Keyword, Text, Int, Double, Bool, Datetime or KeywordList", kind, name)
	}
	into[name] = kindValue
	return nil
}

// ports of the server's parts; only the frontend's is of interest to clients.
type ports struct {
	frontend, frontendHTTP, history, matching, worker int
}

// choose takes the frontend's port from address and finds free ones for every
// part that has none yet. They are all held until the last is known, so that
// none is found twice.
func (p *ports) choose(address string) error {
	tcp, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return fmt.Errorf("parse --address %q: %w", address, err)
	}
	if !tcp.IP.IsLoopback() || tcp.Port == 0 {
		return fmt.Errorf("--address %q must be a port on 127.0.0.1", address)
	}
	p.frontend = tcp.Port
	for _, port := range []*int{&p.frontendHTTP, &p.history, &p.matching, &p.worker} {
		if *port != 0 {
			continue
		}
		listener, err := net.Listen("tcp4", loopback(0))
		if err != nil {
			return fmt.Errorf("find a free port: %w", err)
		}
		defer listener.Close()
		*port = listener.Addr().(*net.TCPAddr).Port
	}
	return nil
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
