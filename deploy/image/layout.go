package main

import (
	"archive/tar"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// lay writes an OCI layout into a folder.
func lay(images []platformImage, o options, folder string) (v1.Hash, error) {
	at, err := layout.Write(folder, empty.Index)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("write the layout: %w", err)
	}
	// Engines take the name from one or the other when they load the archive.
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
		header := tar.Header{
			Typeflag: tar.TypeReg, Name: filepath.ToSlash(relative), Mode: 0o644, Size: int64(len(data)), ModTime: o.created, Format: tar.FormatPAX,
		}
		if err := w.WriteHeader(&header); err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
	if err != nil {
		return fmt.Errorf("pack the archive: %w", err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("pack the archive: %w", err)
	}
	return out.Close()
}
