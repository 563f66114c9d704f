package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// shared is the one lab with the product on it that all stories use.
var shared *world

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	folder, err := newFolder()
	if err != nil {
		return failed("make a folder for this run", err)
	}
	if shared, err = startWorld(ctx, folder, allMembers()); err != nil {
		return failed("start the lab and Lifeboat, logs are in "+folder, err)
	}
	code := m.Run()
	if err := record(ctx, shared, *recordTo); err != nil {
		code = max(code, failed("record the histories", err))
	}
	if err := shared.stop(); err != nil {
		code = max(code, failed("stop everything in order", err))
	}
	if code != 0 {
		fmt.Fprintln(os.Stderr, "stories: logs are in", folder)
		return code
	}
	if err := os.RemoveAll(folder); err != nil {
		return failed("remove the run's folder", err)
	}
	return 0
}

func failed(what string, err error) int {
	fmt.Fprintf(os.Stderr, "stories: could not %s:\n%v\n", what, err)
	return 1
}

// newFolder is a fresh folder below .test, which git ignores.
func newFolder() (string, error) {
	root, err := filepath.Abs("../../.test")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(root, 0o750); err != nil {
		return "", err
	}
	return os.MkdirTemp(root, "e2e-")
}
