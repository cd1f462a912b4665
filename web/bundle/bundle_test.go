package bundle_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"redrain/internal/testenv"
	"redrain/web/bundle"
)

var update = flag.Bool("update", false, "write web/dist anew")

// TestDistIsBuiltFromTheSources: the committed files, which the program embeds, equal the build of the sources.
func TestDistIsBuiltFromTheSources(t *testing.T) {
	built := build(t)
	if *update {
		testenv.Must(t, os.RemoveAll("../dist")) // a file whose hash has changed leaves no older one behind
		for name, data := range built {
			file := filepath.Join("..", "dist", filepath.FromSlash(name))
			testenv.Must(t, os.MkdirAll(filepath.Dir(file), 0o755))
			testenv.Must(t, os.WriteFile(file, data, 0o644))
		}
	}
	dist := os.DirFS("../dist")
	var committed []string
	err := fs.WalkDir(dist, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			committed = append(committed, name)
		}
		return err
	})
	testenv.Must(t, err)
	for name, want := range built {
		got, err := fs.ReadFile(dist, name)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("web/dist/%s is not what the sources make: run go generate . and commit the result", name)
		}
	}
	for _, name := range committed {
		if _, ok := built[name]; !ok {
			t.Errorf("web/dist/%s is made of nothing: run go generate . and commit the result", name)
		}
	}
}

// TestBudgets: a page that thousands of phones load in the same minute, over one hall's network, has to be small.
func TestBudgets(t *testing.T) {
	built := build(t)
	var served map[string]string
	testenv.Must(t, json.Unmarshal(built[bundle.Manifest], &served))
	for _, b := range []struct {
		page  string
		files []string // names in the manifest
		most  int      // bytes, gzipped
	}{
		// Half of a kilobyte more draws twice as many frames on a phone without a graphics processor.
		{"play", []string{"play.js", "old.js", "play.css"}, 48_000},
		{"later for play", []string{"late.js"}, 20_000},
		{"in WeChat", []string{"wechat.js"}, 1_500},
		// An operator loads it once, and it is cached. Over a slow line 20 KB more cost half a second. In return there
		// are players, lists, risk, alarms, the first run, QR codes and the server's words in Chinese.
		{"console", []string{"console.js", "console.css"}, 129_000},
		{"sdk", nil, 7_000},
	} {
		parts := [][]byte{}
		for _, f := range b.files {
			parts = append(parts, built[served[f][1:]])
		}
		if b.files == nil {
			parts = append(parts, built[bundle.SDK])
		}
		if slices.ContainsFunc(parts, func(p []byte) bool { return len(p) == 0 }) {
			t.Fatalf("%s: a part of it is missing", b.page)
		}
		size := 0
		for _, p := range parts {
			size += zipped(t, p)
		}
		t.Logf("%s: %d bytes gzipped of at most %d", b.page, size, b.most)
		if size > b.most {
			t.Errorf("%s is %d bytes gzipped, %d more than it may be", b.page, size, size-b.most)
		}
	}
}

func build(t *testing.T) map[string][]byte {
	t.Helper()
	built, err := bundle.Build("..")
	testenv.Must(t, err)
	return built
}

func zipped(t *testing.T, data []byte) int {
	t.Helper()
	var out bytes.Buffer
	zw, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	testenv.Must(t, err)
	testenv.Must(t, testenv.Err(zw.Write(data)))
	testenv.Must(t, zw.Close())
	return out.Len()
}
