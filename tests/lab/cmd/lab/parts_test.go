package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada"
	"github.com/stretchr/testify/require"

	"github.com/lifeboat-failover/lifeboat/tests/lab/manifests"
)

func TestAFolderThatIsNotALabsIsNeitherClaimedNorRemoved(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "precious")
	require.NoError(t, os.WriteFile(precious, nil, 0o600))
	_, err := claimFolder(dir)
	require.ErrorContains(t, err, "not a lab's folder")
	require.ErrorContains(t, down(t.Context(), dir), "not a lab's folder")
	require.FileExists(t, precious)
}

func TestDownWhereNoLabWasIsNoError(t *testing.T) {
	require.NoError(t, down(t.Context(), filepath.Join(t.TempDir(), "never")))
}

func TestWhatADeadLabLeftIsEmptiedOnClaim(t *testing.T) {
	dir := t.TempDir()
	f, err := claimFolder(dir)
	require.NoError(t, err)
	left := filepath.Join(dir, "audit.log")
	require.NoError(t, os.WriteFile(left, nil, 0o600))
	_, err = claimFolder(dir)
	require.ErrorAs(t, err, &errRunning{})
	require.FileExists(t, left)
	require.NoError(t, f.release())
	f, err = claimFolder(dir)
	require.NoError(t, err)
	require.NoFileExists(t, left)
	require.NoError(t, f.remove())
	require.NoDirExists(t, dir)
}

func TestMembersFileWithAnUnknownFieldIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "members.yaml")
	require.NoError(t, os.WriteFile(file, []byte("- name: east\n  region: east\n  cpus: 4\n"), 0o600))
	members, err := loadMembers(file)
	require.NoError(t, err)
	require.Equal(t, []karmada.MemberSpec{{Name: "east", Region: "east", CPUs: 4}}, members)
	require.NoError(t, os.WriteFile(file, []byte("- name: east\n  regoin: east\n"), 0o600))
	_, err = loadMembers(file)
	require.ErrorContains(t, err, "regoin")
}

func TestManifestsAreReadFromFilesAndFoldersDocumentByDocument(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.yaml"),
		[]byte("kind: ConfigMap\nmetadata: {name: one}\n---\n# nothing\n---\nkind: Namespace\nmetadata: {name: two}\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("no manifest"), 0o600))
	objects, err := manifests.Load([]string{dir, filepath.Join(dir, "a.yaml")})
	require.NoError(t, err)
	require.Len(t, objects, 4)
	require.Equal(t, "two", objects[1].GetName())
}
