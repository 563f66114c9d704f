package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/x509"
	"debug/elf"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/require"
)

const root = "../.."

// must is the value of a call that must not fail: must(read())(t).
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		require.NoError(t, err)
		return value
	}
}

// built is what TestMain builds once for all tests.
var built struct {
	archive string
	digest  v1.Hash
	err     error
	once    sync.Once
	image   v1.Image
}

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "lifeboat-image-test-")
	if err != nil {
		panic(err)
	}
	built.archive = filepath.Join(folder, "lifeboat.tar")
	built.digest, built.err = build(context.Background(), wanted(root, built.archive))
	code := m.Run()
	if err := os.RemoveAll(folder); err != nil {
		panic(err)
	}
	os.Exit(code)
}

func wanted(from, out string) options {
	return options{
		root: from, version: "v1.2.3", name: "lifeboat", platforms: []string{"linux/" + runtime.GOARCH},
		created: time.Unix(1700000000, 0).UTC(), out: out,
	}
}

// unpack reads the archive as an engine would.
func unpack(t *testing.T, folder, archive string) layout.Path {
	t.Helper()
	in := must(os.Open(archive))(t)
	defer in.Close()
	each(t, in, func(header *tar.Header, data []byte) {
		name := filepath.Join(folder, header.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, data, 0o600))
	})
	return must(layout.FromPath(folder))(t)
}

func each(t *testing.T, in io.Reader, do func(*tar.Header, []byte)) {
	t.Helper()
	for r := tar.NewReader(in); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		do(header, must(io.ReadAll(r))(t))
	}
}

// theImage is what TestMain built, read once: it is large.
func theImage(t *testing.T) v1.Image {
	t.Helper()
	require.NoError(t, built.err)
	built.once.Do(func() { built.image = only(t, built.archive) })
	require.NotNil(t, built.image)
	return built.image
}

// only is the image of an archive that holds one.
func only(t *testing.T, archive string) v1.Image {
	t.Helper()
	index := must(unpack(t, filepath.Join(filepath.Dir(archive), "layout"), archive).ImageIndex())(t)
	manifest := must(index.IndexManifest())(t)
	require.Len(t, manifest.Manifests, 1)
	require.Equal(t, "lifeboat:v1.2.3", manifest.Manifests[0].Annotations["io.containerd.image.name"])
	image := must(index.Image(manifest.Manifests[0].Digest))(t)
	require.NoError(t, validate.Image(image))
	return image
}

// entries are the files of an image by their path, without the folders.
func entries(t *testing.T, image v1.Image) content {
	t.Helper()
	layers := must(image.Layers())(t)
	found := content{}
	for _, l := range layers {
		in := must(l.Uncompressed())(t)
		each(t, in, func(header *tar.Header, data []byte) {
			require.Zero(t, header.Uid)
			require.Zero(t, header.Gid)
			require.True(t, header.ModTime.Equal(time.Unix(1700000000, 0)))
			if header.Typeflag == tar.TypeReg || header.Name == home[1:]+"/" {
				found["/"+header.Name] = file{data, header.Mode}
			}
		})
		require.NoError(t, in.Close())
	}
	return found
}

func TestTheImageRunsAsNobodyAndHoldsNothingElse(t *testing.T) {
	image := theImage(t)
	require.Equal(t, built.digest, must(image.Digest())(t), "what was printed is what a registry would say")
	config := must(image.ConfigFile())(t)
	require.Equal(t, "65532:65532", config.Config.User)
	require.Equal(t, []string{"/usr/local/bin/lifeboat"}, config.Config.Entrypoint)
	require.Equal(t, "v1.2.3", config.Config.Labels["org.opencontainers.image.version"])
	require.Equal(t, "linux", config.OS)
	require.Equal(t, runtime.GOARCH, config.Architecture)
	files := entries(t, image)
	var names []string
	for name, f := range files {
		names = append(names, name)
		require.Zero(t, f.mode&0o022, "%s can be written by others", name)
	}
	require.ElementsMatch(t, []string{
		"/etc/group", "/etc/passwd", "/etc/ssl/certs/ca-certificates.crt", home + "/", "/usr/local/bin/lifeboat", "/usr/local/bin/lifeboat-worker",
	}, names)
	require.Contains(t, string(files["/etc/passwd"].data), "nonroot:x:65532:65532:")
	require.True(t, x509.NewCertPool().AppendCertsFromPEM(files[certificates].data))
	require.Greater(t, bytes.Count(files[certificates].data, []byte("BEGIN CERTIFICATE")), 100)
}

func TestTheProgramsOfTheImageRunWithoutAnythingAroundThem(t *testing.T) {
	files := entries(t, theImage(t))
	for name := range programs {
		inside := path.Join(programsIn, name)
		require.NotZero(t, files[inside].mode&0o001, "%s cannot be executed by nonroot", inside)
		outside := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(outside, files[inside].data, 0o755))
		binary, err := elf.Open(outside)
		require.NoError(t, err)
		for _, p := range binary.Progs {
			require.NotEqual(t, elf.PT_INTERP, p.Type, "%s wants a dynamic loader", name)
		}
		libraries, err := binary.ImportedLibraries()
		require.NoError(t, err)
		require.Empty(t, libraries, name)
		require.NoError(t, binary.Close())
		cmd := exec.CommandContext(t.Context(), outside, "--version")
		cmd.Env = []string{}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), "v1.2.3")
	}
}

// copySources puts what the product is built from elsewhere.
func copySources(t *testing.T) string {
	t.Helper()
	target := t.TempDir()
	for _, name := range sources(t) {
		if !strings.HasPrefix(name, "go.") {
			require.NoError(t, os.CopyFS(filepath.Join(target, name), os.DirFS(filepath.Join(root, name))))
			continue
		}
		data := must(os.ReadFile(filepath.Join(root, name)))(t)
		require.NoError(t, os.WriteFile(filepath.Join(target, name), data, 0o600))
	}
	return target
}

// sources are what Containerfile.dockerignore lets an engine see.
func sources(t *testing.T) []string {
	t.Helper()
	data := must(os.ReadFile("Containerfile.dockerignore"))(t)
	var names []string
	for line := range strings.Lines(string(data)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "!"); ok {
			names = append(names, name)
		}
	}
	return names
}

// From another folder, out of what an engine would be given: the same bytes.
func TestTheSameSourcesMakeTheSameImageAnywhere(t *testing.T) {
	require.NoError(t, built.err)
	// Whatever whoever builds has told their Go.
	settings := filepath.Join(t.TempDir(), "env")
	require.NoError(t, os.WriteFile(settings, []byte("GOFLAGS=-tags=netgo\nGOAMD64=v3\n"), 0o600))
	t.Setenv("GOENV", settings)
	again := filepath.Join(t.TempDir(), "again.tar")
	require.Equal(t, built.digest, must(build(t.Context(), wanted(copySources(t), again)))(t))
	first := must(os.ReadFile(built.archive))(t)
	require.True(t, bytes.Equal(first, must(os.ReadFile(again))(t)), "the archives differ")
}

// stand-ins for programs: what is held here is how several platforms are put together.
func TestSeveralPlatformsAreOneIndex(t *testing.T) {
	o := wanted(root, filepath.Join(t.TempDir(), "several.tar"))
	var images []platformImage
	for _, name := range []string{"linux/amd64", "linux/arm64"} {
		platform := must(v1.ParsePlatform(name))(t)
		image := must(assemble(content{"/usr/local/bin/lifeboat": {[]byte(name), 0o755}}, o, *platform))(t)
		images = append(images, platformImage{image, *platform})
	}
	digest := must(write(images, o))(t)
	outer := must(unpack(t, t.TempDir(), o.out).ImageIndex())(t)
	manifest := must(outer.IndexManifest())(t)
	require.Len(t, manifest.Manifests, 1)
	require.Equal(t, digest, manifest.Manifests[0].Digest)
	index := must(outer.ImageIndex(digest))(t)
	require.NoError(t, validate.Index(index))
	inner := must(index.IndexManifest())(t)
	var platforms []string
	for _, m := range inner.Manifests {
		platforms = append(platforms, m.Platform.String())
	}
	require.Equal(t, []string{"linux/amd64", "linux/arm64"}, platforms)
}

func TestAWrongCommandLineBuildsNothing(t *testing.T) {
	for _, args := range [][]string{{"extra"}, {"--version", "a b"}, {"--version", "-X other.Variable=1"}, {"--nonsense"}} {
		_, err := parse(args)
		require.Error(t, err, args)
	}
	_, err := build(t.Context(), options{platforms: []string{"a/b/c/d"}})
	require.ErrorContains(t, err, "a/b/c/d")
}

// The image that an engine builds differs in its base alone.
func TestTheContainerfileMakesTheSameImage(t *testing.T) {
	data := must(os.ReadFile("Containerfile"))(t)
	lines := strings.Split(string(data), "\n")
	config := must(theImage(t).ConfigFile())(t)
	require.Contains(t, lines, "USER "+config.Config.User)
	require.Contains(t, lines, "WORKDIR "+config.Config.WorkingDir)
	require.Contains(t, lines, `ENTRYPOINT ["`+strings.Join(config.Config.Entrypoint, `", "`)+`"]`)
	require.Contains(t, lines, "ENV "+strings.Join(config.Config.Env, " "))
	for name, pkg := range programs {
		require.Contains(t, lines, `RUN go build -trimpath -buildvcs=false -ldflags "-s -w -X `+versionVariable+
			`=${VERSION}" -o /out/`+name+" "+pkg)
	}
	toolchain := must(os.ReadFile(filepath.Join(root, "tests", "toolchain.sh")))(t)
	needs := regexp.MustCompile(`(?m)^need=(.+)$`).FindSubmatch(toolchain)
	require.NotNil(t, needs)
	require.Contains(t, string(data), "golang:"+string(needs[1])+" AS build")
}

// Everything that the programs are built from is seen by an engine, testdata and tests
// are not.
func TestAnEngineIsGivenEveryFolderOfTheProduct(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./controller", "./worker")
	cmd.Dir = root
	out := must(cmd.Output())(t)
	given := sources(t)
	for line := range strings.Lines(string(out)) {
		own, ok := strings.CutPrefix(strings.TrimSpace(line), "github.com/lifeboat-failover/lifeboat/")
		if folder, _, _ := strings.Cut(own, "/"); ok {
			require.Contains(t, given, folder)
		}
	}
	for _, name := range given {
		_, err := os.Stat(filepath.Join(root, name))
		require.False(t, errors.Is(err, fs.ErrNotExist), "%s is not there", name)
	}
	require.True(t, slices.Contains(given, "go.mod"))
}
