package main

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql"
	"go.temporal.io/server/tools/common/schema"
	sqltool "go.temporal.io/server/tools/sql"
)

// maxConnections of one of the server's pools. Each of its four services has one for
// workflows and one for visibility: the database must allow eight times as many.
const maxConnections = 20

// postgresShards of workflow history. Unlike SQLite, PostgreSQL takes several writers at once.
const postgresShards = 4

// postgresStores returns where workflows and their list entries are stored in the
// PostgreSQL server at address (postgres://USER@HOST:PORT/DATABASE?passfile=FILE), with
// their schema.
func postgresStores(address string) (config.Persistence, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return config.Persistence{}, fmt.Errorf("parse --postgres: %w", err)
	}
	attributes := map[string]string{}
	for key := range parsed.Query() {
		attributes[key] = parsed.Query().Get(key)
	}
	name := strings.TrimPrefix(parsed.Path, "/")
	if parsed.Scheme != "postgres" || parsed.User.Username() == "" || parsed.Port() == "" || name == "" {
		return config.Persistence{}, fmt.Errorf("--postgres must be postgres://USER@HOST:PORT/DATABASE, got %q", parsed.Redacted())
	}
	stores := config.Persistence{
		DefaultStore: "workflows", VisibilityStore: "visibility", NumHistoryShards: postgresShards,
		DataStores: map[string]config.DataStore{},
	}
	for _, each := range []struct{ store, database, schema string }{
		{store: stores.DefaultStore, database: name, schema: "postgresql/v12/temporal"},
		{store: stores.VisibilityStore, database: name + "_visibility", schema: "postgresql/v12/visibility"},
	} {
		database := config.SQL{
			PluginName:        postgresql.PluginNamePGX,
			ConnectAddr:       parsed.Host,
			User:              parsed.User.Username(),
			DatabaseName:      each.database,
			ConnectAttributes: attributes,
			MaxConns:          maxConnections,
			MaxIdleConns:      maxConnections,
			MaxConnLifetime:   time.Hour,
		}
		if err := updateSchema(database, each.schema); err != nil {
			return config.Persistence{}, fmt.Errorf("database %s: %w", each.database, err)
		}
		stores.DataStores[each.store] = config.DataStore{SQL: &database}
	}
	return stores, nil
}

// updateSchema creates the database where it is missing and brings its schema, a folder
// of go.temporal.io/server/schema, to the version of this server.
func updateSchema(database config.SQL, folder string) error {
	logger := log.NewNoopLogger()
	server := database // DoCreateDatabase changes it
	if err := sqltool.DoCreateDatabase(&server, "", logger); err != nil {
		return fmt.Errorf("create it: %w", err)
	}
	connection, err := sqltool.NewConnection(&database, logger)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer connection.Close()
	// This creates the tables of versions; a database that has a later version keeps it.
	if err := schema.NewSetupSchemaTask(connection, &schema.SetupConfig{InitialVersion: "0.0"}, logger).Run(); err != nil {
		return fmt.Errorf("set up its schema: %w", err)
	}
	if err := schema.NewUpdateSchemaTask(connection, &schema.UpdateConfig{SchemaName: folder}, logger).Run(); err != nil {
		return fmt.Errorf("update its schema: %w", err)
	}
	return nil
}
