package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// build writes the archive and returns the digest of what a registry would hold: the
// image, or the index of several.
func build(ctx context.Context, o options) (v1.Hash, error) {
	var images []platformImage
	for _, name := range o.platforms {
		platform, err := v1.ParsePlatform(name)
		if err != nil {
			return v1.Hash{}, fmt.Errorf("platform %q: %w", name, err)
		}
		image, err := forPlatform(ctx, o, *platform)
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

// forPlatform compiles and packs one image.
func forPlatform(ctx context.Context, o options, platform v1.Platform) (v1.Image, error) {
	folder, err := os.MkdirTemp("", "lifeboat-image-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	if err := compile(ctx, o, platform, folder); err != nil {
		return nil, err
	}
	built, err := binaries(folder)
	if err != nil {
		return nil, err
	}
	return assemble(built, o, platform)
}

// assemble puts the layers together and says how they run.
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

// write makes the archive: one image as itself, several below an index.
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
