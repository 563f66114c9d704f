package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Postgres is the value of [Options].TemporalDatabase for a PostgreSQL server.
const Postgres = "postgres"

// ErrNoPostgres says that PostgreSQL is not installed.
var ErrNoPostgres = errors.New("cannot find PostgreSQL on this machine (run `apt-get install postgresql`)")

const (
	// postgresUser owns the databases of the lab's PostgreSQL server.
	postgresUser = "lab"
	// temporalDatabase is where Temporal stores workflows; Temporal creates it.
	temporalDatabase = "temporal"
	// emptyDatabase takes its place in a Temporal that has lost its database.
	emptyDatabase = "empty"
)

// postgres is the lab's PostgreSQL server; everything it stores is in the lab's folder.
type postgres struct {
	bin      string // folder of its programs
	folder   string
	passfile string // the password, as libpq and pgx read it
	address  string
	// as is the account that its programs run with; they refuse to run as root.
	as *syscall.SysProcAttr
}

// findPostgres returns the folder of PostgreSQL's programs: Debian has one for each
// version and none of them in PATH.
func findPostgres() (string, error) {
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		debian, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
		if err != nil || len(debian) == 0 {
			return "", ErrNoPostgres
		}
		initdb = slices.Max(debian)
	}
	// A link to it says nothing of the programs beside it.
	initdb, err = filepath.EvalSymlinks(initdb)
	return filepath.Dir(initdb), err
}

// unprivileged returns the attributes that start a child under the account "nobody" when this process is root. The
// child may still enter folders of root: the lab's folder is one. For any other user it returns nil.
func unprivileged() (*syscall.SysProcAttr, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return nil, fmt.Errorf("find an account for PostgreSQL, which refuses to run as root: %w", err)
	}
	uid, uidErr := strconv.ParseUint(nobody.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(nobody.Gid, 10, 32)
	const capDACOverride = 1 // capabilities(7)
	return &syscall.SysProcAttr{
		Credential:  &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)},
		AmbientCaps: []uintptr{capDACOverride},
	}, errors.Join(uidErr, gidErr)
}

// newPostgres creates a cluster without databases in folder.
func newPostgres(ctx context.Context, folder string) (*postgres, error) {
	p := &postgres{folder: folder, passfile: folder + ".pgpass"}
	var err error
	if p.bin, err = findPostgres(); err != nil {
		return nil, err
	}
	if p.as, err = unprivileged(); err != nil {
		return nil, err
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, fmt.Errorf("create folder of PostgreSQL: %w", err)
	}
	password := rand.Text()
	if err := os.WriteFile(p.passfile, []byte("*:*:*:"+postgresUser+":"+password+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write password of PostgreSQL: %w", err)
	}
	if p.as != nil {
		if err := os.Chown(folder, int(p.as.Credential.Uid), int(p.as.Credential.Gid)); err != nil {
			return nil, fmt.Errorf("give PostgreSQL its folder: %w", err)
		}
	}
	initdb := exec.CommandContext(ctx, filepath.Join(p.bin, "initdb"), "--pgdata="+folder, "--username="+postgresUser,
		"--auth=scram-sha-256", "--pwfile=/dev/stdin", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	initdb.SysProcAttr, initdb.Stdin = p.as, strings.NewReader(password)
	if output, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("create a PostgreSQL cluster in %s: %w\n%s", folder, err, output)
	}
	return p, nil
}

func (s *Servers) startPostgres(ctx context.Context) error {
	p, err := newPostgres(ctx, filepath.Join(s.options.Dir, Postgres))
	if err != nil {
		return err
	}
	return s.start(ctx, launch{
		ports: 1,
		prepare: func(ports []int) (Command, probe, error) {
			s.postgres, p.address = p, hostPort(ports[0])
			child := Command{
				Name: Postgres, Binary: filepath.Join(p.bin, "postgres"), Args: p.args(ports[0], s.options.Durable),
				LogFile: filepath.Join(s.options.Dir, Postgres+".log"), As: p.as,
				// SIGTERM would wait for every client to leave.
				StopSignal: syscall.SIGINT,
			}
			return child, p.accepts(ports[0]), nil
		},
		keep: func(running *Process) { s.database = running },
	})
}

// DatabaseURL is Temporal's database in PostgreSQL, as psql takes it; empty for SQLite.
func (s *Servers) DatabaseURL() string {
	if s.postgres == nil {
		return ""
	}
	return s.postgres.url(temporalDatabase)
}

func (p *postgres) url(database string) string {
	return (&url.URL{
		Scheme: "postgres", User: url.User(postgresUser), Host: p.address, Path: database,
		RawQuery: url.Values{"passfile": {p.passfile}}.Encode(),
	}).String()
}

// args of the server. Durable as etcd is: without it a killed server loses nothing, a power cut may.
// Shared memory is in its folder, too, so that a killed server leaves none behind.
func (p *postgres) args(port int, durable bool) []string {
	settings := []string{
		"listen_addresses=127.0.0.1", "port=" + strconv.Itoa(port), "unix_socket_directories=" + p.socketFolder(port),
		"max_connections=200", "dynamic_shared_memory_type=mmap",
		"fsync=" + strconv.FormatBool(durable), "full_page_writes=" + strconv.FormatBool(durable),
	}
	args := []string{"-D", p.folder}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	return args
}

// socketFolder is the cluster's folder, or none where the socket's path would be too long for the kernel.
func (p *postgres) socketFolder(port int) string {
	if len(fmt.Sprintf("%s/.s.PGSQL.%d", p.folder, port)) >= len(syscall.RawSockaddrUnix{}.Path) {
		return ""
	}
	return p.folder
}

func (p *postgres) accepts(port int) probe {
	return func(ctx context.Context) error {
		return exec.CommandContext(ctx, filepath.Join(p.bin, "pg_isready"), "--quiet", "--host=127.0.0.1", "--port="+strconv.Itoa(port)).Run()
	}
}
