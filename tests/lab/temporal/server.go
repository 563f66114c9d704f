package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	uioptions "github.com/temporalio/ui-server/v2/server/server_options"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
)

const clusterName = "active"

// newServer prepares its databases (schema, namespace, search attributes) and
// returns a server that is ready to be started on them.
func newServer(opts options) (temporal.Server, error) {
	stores, err := prepareStores(opts)
	if err != nil {
		return nil, err
	}
	logger := log.NewZapLogger(log.BuildZapLogger(log.Config{Stdout: true, Level: opts.logLevel}))
	conf := serverConfig(opts.ports, stores)
	authorizer, err := authorization.GetAuthorizerFromConfig(&conf.Global.Authorization)
	if err != nil {
		return nil, fmt.Errorf("create authorizer: %w", err)
	}
	claimMapper, err := authorization.GetClaimMapperFromConfig(&conf.Global.Authorization, logger)
	if err != nil {
		return nil, fmt.Errorf("create claim mapper: %w", err)
	}
	return temporal.NewServer(
		temporal.WithConfig(conf),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(staticHosts(opts.ports)),
		temporal.WithLogger(logger),
		temporal.WithAuthorizer(authorizer),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return claimMapper }),
		temporal.WithDynamicConfigClient(dynamicConfig()),
	)
}

// staticHosts tells every part where the others are, which spares the gossip
// ring and its ports.
func staticHosts(p ports) map[primitives.ServiceName]static.Hosts {
	return map[primitives.ServiceName]static.Hosts{
		primitives.FrontendService: static.SingleLocalHost(loopback(p.frontend)),
		primitives.HistoryService:  static.SingleLocalHost(loopback(p.history)),
		primitives.MatchingService: static.SingleLocalHost(loopback(p.matching)),
		primitives.WorkerService:   static.SingleLocalHost(loopback(p.worker)),
	}
}

// dynamicConfig lifts the limits that protect a shared production database and
// would only make one machine's tests wait.
func dynamicConfig() dynamicconfig.StaticClient {
	return dynamicconfig.StaticClient{
		dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key():      true,
		dynamicconfig.FrontendPersistenceMaxQPS.Key():                    10000,
		dynamicconfig.HistoryPersistenceMaxQPS.Key():                     45000,
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 100,
	}
}

func serverConfig(p ports, stores config.Persistence) *config.Config {
	var conf config.Config
	conf.Global.Membership.MaxJoinDuration = 30 * time.Second
	conf.Global.Membership.BroadcastAddress = "127.0.0.1"
	conf.Persistence = stores
	conf.ClusterMetadata = &cluster.Config{
		FailoverVersionIncrement: 10,
		MasterClusterName:        clusterName,
		CurrentClusterName:       clusterName,
		ClusterInformation: map[string]cluster.ClusterInformation{clusterName: {
			Enabled:                true,
			InitialFailoverVersion: 1,
			RPCAddress:             loopback(p.frontend),
			HTTPAddress:            loopback(p.frontendHTTP),
		}},
	}
	conf.DCRedirectionPolicy.Policy = "noop"
	conf.Services = map[string]config.Service{
		"frontend": {RPC: config.RPC{GRPCPort: p.frontend, HTTPPort: p.frontendHTTP, BindOnIP: "127.0.0.1"}},
		"history":  {RPC: config.RPC{GRPCPort: p.history, BindOnIP: "127.0.0.1"}},
		"matching": {RPC: config.RPC{GRPCPort: p.matching, BindOnIP: "127.0.0.1"}},
		"worker":   {RPC: config.RPC{GRPCPort: p.worker, BindOnIP: "127.0.0.1"}},
	}
	conf.Archival.History.State = "disabled"
	conf.Archival.Visibility.State = "disabled"
	conf.NamespaceDefaults.Archival.History.State = "disabled"
	conf.NamespaceDefaults.Archival.Visibility.State = "disabled"
	conf.PublicClient.HostPort = loopback(p.frontend)
	return &conf
}

// prepareStores creates schema, namespace and search attributes where they are missing.
// A SQLite file that exists is taken as it is; PostgreSQL gets this server's schema.
func prepareStores(opts options) (config.Persistence, error) {
	stores, err := connectStores(opts)
	if err != nil {
		return config.Persistence{}, err
	}
	// Nothing in it is SQLite's own: the columns of search attributes have the same names everywhere.
	namespace, err := sqlite.NewNamespaceConfig(clusterName, opts.namespace, false, opts.searchAttributes)
	if err != nil {
		return config.Persistence{}, fmt.Errorf("describe namespace %q: %w", opts.namespace, err)
	}
	if err := sqlite.CreateNamespaces(stores.DataStores[stores.DefaultStore].SQL, namespace); err != nil {
		return config.Persistence{}, fmt.Errorf("create namespace %q: %w", opts.namespace, err)
	}
	return stores, nil
}

// connectStores returns the databases that opts ask for, with their schema.
func connectStores(opts options) (config.Persistence, error) {
	if opts.postgres != "" {
		return postgresStores(opts.postgres)
	}
	database := &config.SQL{
		PluginName: sqliteplugin.PluginName,
		// The name only tells in-memory databases of one process apart.
		DatabaseName:      strconv.Itoa(os.Getpid()),
		ConnectAttributes: map[string]string{"mode": "memory", "cache": "shared"},
	}
	if opts.dbFile != "" {
		database.DatabaseName = opts.dbFile
		database.ConnectAttributes = map[string]string{"mode": "rwc", "journal_mode": "wal", "synchronous": "normal"}
		if err := createSchema(opts.dbFile, database); err != nil {
			return config.Persistence{}, err
		}
	}
	return config.Persistence{
		DefaultStore:     sqliteplugin.PluginName,
		VisibilityStore:  sqliteplugin.PluginName,
		NumHistoryShards: 1,
		DataStores:       map[string]config.DataStore{sqliteplugin.PluginName: {SQL: database}},
	}, nil
}

func createSchema(file string, database *config.SQL) error {
	switch _, err := os.Stat(file); {
	case err == nil:
		return nil
	case !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("look for database file: %w", err)
	}
	if err := sqlite.SetupSchema(database); err != nil {
		return fmt.Errorf("create schema in %s: %w", file, err)
	}
	return nil
}

// newUI returns the web UI. Its news feed stays off: it would call out to the
// internet on every page.
func newUI(opts options) *uiserver.Server {
	return uiserver.NewServer(uioptions.WithConfigProvider(&uiconfig.Config{
		Host:                "127.0.0.1",
		Port:                opts.uiPort,
		TemporalGRPCAddress: loopback(opts.ports.frontend),
		DefaultNamespace:    opts.namespace,
		EnableUI:            true,
		CORS:                uiconfig.CORS{CookieInsecure: true},
		DisableNewsFetch:    true,
		HideLogs:            true,
	}))
}
