package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// programs are the binaries of the image and the packages they are built from.
var programs = map[string]string{
	"lifeboat":        "./controller",
	"lifeboat-worker": "./worker",
}

// versionVariable is what the linker sets.
const versionVariable = "github.com/lifeboat-failover/lifeboat/internal/telemetry.Version"

// compile builds every program, statically linked, into a folder.
func compile(ctx context.Context, o options, platform v1.Platform, folder string) error {
	target, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	for name, pkg := range programs {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
			"-ldflags", "-s -w -X "+versionVariable+"="+o.version, "-o", filepath.Join(target, name), pkg)
		cmd.Dir = o.root
		// What else would change the bytes is set to what Go assumes by itself. An empty
		// GOFLAGS would leave what `go env -w` has written.
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+platform.OS, "GOARCH="+platform.Architecture,
			"GOFLAGS=-trimpath", "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0")
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("build %s for %s: %w\n%s", name, platform, err, said.Bytes())
		}
	}
	return nil
}
