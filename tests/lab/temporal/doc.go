// Command temporal-dev runs a complete Temporal server (frontend, history,
// matching, worker) and its web UI in one process, on 127.0.0.1 only.
//
// The namespace and its search attributes exist before the server answers its
// first request, so a client never meets a half-prepared server. State lives in
// memory, with --db-file in one SQLite file (WAL) that survives a restart, or with
// --postgres in two databases of a PostgreSQL server, for workflows and for their list
// entries. PostgreSQL's schema is updated; a file written by another server version is
// not migrated: delete it.
//
// It is a server for tests and demonstrations: no TLS, no authentication, and
// it calls nobody outside the machine.
package main
