package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// build writes the archive and returns the digest that a registry would show: of the image, or
// of the index of several.
func build(ctx context.Context, o options) (v1.Hash, error) {
	var images []platformImage
	for _, name := range o.platforms {
		platform, err := v1.ParsePlatform(name)
		if err != nil {
			return v1.Hash{}, fmt.Errorf("platform %q: %w", name, err)
		}
		built, err := compile(ctx, o, *platform)
		if err != nil {
			return v1.Hash{}, err
		}
		image, err := assemble(built, o, *platform)
		if err != nil {
			return v1.Hash{}, err
		}
		images = append(images, platformImage{image, *platform})
	}
	return write(images, o)
}

// platformImage is the image of one platform.
type platformImage struct {
	v1.Image
	platform v1.Platform
}

// assemble appends the layers and sets the image's configuration.
func assemble(built content, o options, platform v1.Platform) (v1.Image, error) {
	created := v1.Time{Time: o.created}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, part := range []struct {
		files content
		what  string
	}{{base(), "accounts and root certificates"}, {built, "lifeboat and lifeboat-worker " + o.version}} {
		packed, err := layer(part.files, o.created)
		if err != nil {
			return nil, err
		}
		image, err = mutate.Append(image, mutate.Addendum{
			Layer: packed, MediaType: types.OCILayer, History: v1.History{Created: created, CreatedBy: "deploy/image", Comment: part.what},
		})
		if err != nil {
			return nil, fmt.Errorf("append %s: %w", part.what, err)
		}
	}
	described, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	described = described.DeepCopy()
	described.Created, described.OS, described.Architecture, described.Variant = created, platform.OS, platform.Architecture, platform.Variant
	described.Config = v1.Config{
		User:       user,
		WorkingDir: home,
		Entrypoint: []string{path.Join(programsIn, "lifeboat")},
		Env:        []string{"PATH=" + programsIn, "HOME=" + home, "SSL_CERT_FILE=" + certificates},
		Labels: map[string]string{
			"org.opencontainers.image.title":    "lifeboat",
			"org.opencontainers.image.source":   "https://github.com/lifeboat-failover/lifeboat",
			"org.opencontainers.image.version":  o.version,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return mutate.ConfigFile(image, described)
}

// write writes the archive: one image, or an index of several.
func write(images []platformImage, o options) (v1.Hash, error) {
	folder, err := os.MkdirTemp("", "lifeboat-layout-")
	if err != nil {
		return v1.Hash{}, err
	}
	defer os.RemoveAll(folder)
	digest, err := lay(images, o, folder)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := os.MkdirAll(filepath.Dir(o.out), 0o755); err != nil {
		return v1.Hash{}, err
	}
	return digest, archive(folder, o)
}

// programs are the binaries of the image and the packages they are built from.
var programs = map[string]string{
	"lifeboat":        "./controller",
	"lifeboat-worker": "./worker",
}

// versionVariable is set by the linker.
const versionVariable = "github.com/lifeboat-failover/lifeboat/internal/telemetry.Version"

// compile builds every program, statically linked.
func compile(ctx context.Context, o options, platform v1.Platform) (content, error) {
	folder, err := os.MkdirTemp("", "lifeboat-image-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	built := content{}
	for name, pkg := range programs {
		binary := filepath.Join(folder, name)
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
			"-ldflags", "-s -w -X "+versionVariable+"="+o.version, "-o", binary, pkg)
		cmd.Dir = o.root
		// Other settings that change the bytes get Go's defaults. An empty GOFLAGS would not
		// override `go env -w`.
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+platform.OS, "GOARCH="+platform.Architecture,
			"GOFLAGS=-trimpath", "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0")
		if output, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s for %s: %w\n%s", name, platform, err, output)
		}
		data, err := os.ReadFile(binary)
		if err != nil {
			return nil, err
		}
		built[path.Join(programsIn, name)] = file{data, 0o755}
	}
	return built, nil
}

// lay writes an OCI layout into a folder.
func lay(images []platformImage, o options, folder string) (v1.Hash, error) {
	at, err := layout.Write(folder, empty.Index)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("write the layout: %w", err)
	}
	// Container engines read the name from one of these when they load the archive.
	named := layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": o.version,
		"io.containerd.image.name":          o.name + ":" + o.version,
	})
	if len(images) == 1 {
		only := images[0]
		if err := at.AppendImage(only.Image, named, layout.WithPlatform(only.platform)); err != nil {
			return v1.Hash{}, fmt.Errorf("write the image: %w", err)
		}
		return only.Digest()
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, one := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: one.Image, Descriptor: v1.Descriptor{Platform: &one.platform},
		})
	}
	if err := at.AppendIndex(index, named); err != nil {
		return v1.Hash{}, fmt.Errorf("write the index: %w", err)
	}
	return index.Digest()
}

// archive packs a layout, in the order of its paths.
func archive(folder string, o options) error {
	out, err := os.Create(o.out)
	if err != nil {
		return err
	}
	defer out.Close()
	w := tar.NewWriter(out)
	err = filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return pack(w, filepath.ToSlash(relative), file{data, 0o644}, o.created)
	})
	if err = errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("pack the archive: %w", err)
	}
	return out.Close()
}
