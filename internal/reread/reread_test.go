package reread_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/reread"
	"redrain/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// TestALinkIsExchanged: Kubernetes replaces a symbolic link to a directory. The new file may have the time and the size
// of the one before.
func TestALinkIsExchanged(t *testing.T) {
	dir := t.TempDir()
	at := time.Unix(1, 0)
	for _, version := range []string{"v1", "v2"} {
		testenv.Must(t, os.Mkdir(filepath.Join(dir, version), 0o700))
		file := filepath.Join(dir, version, "token")
		testenv.Must(t, os.WriteFile(file, []byte("token "+version), 0o600))
		testenv.Must(t, os.Chtimes(file, at, at))
	}
	point := func(version string) {
		next := filepath.Join(dir, "next")
		testenv.Must(t, os.Symlink(version, next))
		testenv.Must(t, os.Rename(next, filepath.Join(dir, "data")))
	}
	point("v1")
	path := filepath.Join(dir, "data", "token")
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		files, err := reread.New("a token", slog.New(slog.NewTextHandler(&log, nil)), func() (string, error) {
			text, err := os.ReadFile(path)
			return string(text), err
		}, path)
		testenv.Must(t, err)
		reads := func(want string) {
			t.Helper()
			<-time.After(6 * time.Second) // fake time: the next check is due
			testenv.Equal(t, files.Newest(), want, "content")
		}
		reads("token v1")
		testenv.Equal(t, log.String(), "", "log")
		point("v2")
		reads("token v2")
		testenv.Must(t, os.Remove(filepath.Join(dir, "data")))
		reads("token v2")
		testenv.Contains(t, log.String(), "the last content stays in use", "log")
	})
}
