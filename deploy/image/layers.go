package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// The user of the programs, and the paths in the image, as in distroless images.
const (
	user         = "65532:65532"
	home         = "/home/nonroot"
	programsIn   = "/usr/local/bin"
	certificates = "/etc/ssl/certs/ca-certificates.crt"
)

// content is the files of a layer by their absolute path; one that ends with a slash is
// a folder.
type content map[string]file

type file struct {
	data []byte
	mode int64
}

// base is what the programs need beside them.
func base() content {
	return content{
		"/etc/passwd": {[]byte("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:" + home + ":/sbin/nologin\n"), 0o644},
		"/etc/group":  {[]byte("root:x:0:\nnonroot:x:65532:\n"), 0o644},
		certificates:  {roots(), 0o644},
		home + "/":    {}, // the working directory: not every runtime creates it
	}
}

// roots are the certificates that Mozilla trusts without further conditions, as PEM.
func roots() []byte {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue // a list of certificates cannot hold conditions
		}
		text.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
	}
	return text.Bytes()
}

// layer packs files and the folders above them, in the order of their paths.
func layer(files content, created time.Time) (v1.Layer, error) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	done := map[string]bool{"/": true}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, folder := range above(name) {
			if done[folder] {
				continue
			}
			done[folder] = true
			header := tar.Header{Typeflag: tar.TypeDir, Name: folder[1:] + "/", Mode: 0o755, ModTime: created, Format: tar.FormatPAX}
			if err := w.WriteHeader(&header); err != nil {
				return nil, fmt.Errorf("pack %s: %w", folder, err)
			}
		}
		if strings.HasSuffix(name, "/") {
			continue
		}
		if err := pack(w, name[1:], files[name], created); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

// pack writes one file into an archive.
func pack(w *tar.Writer, name string, f file, created time.Time) error {
	header := tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: f.mode, Size: int64(len(f.data)), ModTime: created, Format: tar.FormatPAX}
	if err := w.WriteHeader(&header); err != nil {
		return err
	}
	_, err := w.Write(f.data)
	return err
}

// above are the folders that a file is in, the outermost first.
func above(name string) []string {
	var folders []string
	for folder := path.Dir(name); folder != "/"; folder = path.Dir(folder) {
		folders = append(folders, folder)
	}
	slices.Reverse(folders)
	return folders
}
