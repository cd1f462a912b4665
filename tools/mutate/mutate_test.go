package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what comes out as what is wanted")

// config writes the two files of a run and returns their folder.
func config(t *testing.T, packages, accepted string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"packages.txt": packages, "accepted.txt": accepted} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// run mutates the sample and returns what was printed, and whether it was good.
func run(t *testing.T, o options) (string, bool) {
	t.Helper()
	if testing.Short() {
		t.Skip("with -short no package is mutated: that takes 10 s")
	}
	o.root, o.workers = "testdata/sample", 2
	var out bytes.Buffer
	good, err := mutate(t.Context(), o, &out)
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	return out.String(), good
}

// TestSample: each kind of mutant, and how each ends.
func TestSample(t *testing.T) {
	output := filepath.Join(t.TempDir(), "all.txt")
	printed, good := run(t, options{config: config(t, ". 100\n", ""), output: output})
	text, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/sample.txt"
	if *update {
		if err := os.WriteFile(golden, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(text), "\n")); d != "" {
		t.Error("with -update the golden file is written anew:\n" + d)
	}
	if good {
		t.Error("survivors, and a threshold of 100 %, are good")
	}
	for _, line := range []string{
		"sample.go:43: store.Weak: a*b: * → / [arithmetic]\n",
		"sample.go:75: wait: return retry → zero [return] (not reached)\n",
	} {
		if !strings.Contains(printed, line) {
			t.Errorf("not printed: %s", line)
		}
	}
	if strings.Contains(printed, "store.Add:") {
		t.Error("printed as a survivor: a mutant that was killed")
	}
}

// TestAccepted: an accepted survivor does not count, and an acceptance of nothing is found.
func TestAccepted(t *testing.T) {
	const (
		line  = ".\tstore.Weak\tboundary\treturn sum - a*b, sum > 0 && a != b\tsum > 0: > → >=\tit is a sample\n"
		stale = ".\tstore.Gone\tremove\tgone()\tgo() → (nothing)\tit is a sample\n"
	)
	if out, good := run(t, options{config: config(t, ". 100\n", line), only: `sum > 0: >`}); !good {
		t.Error("not good:\n" + out)
	}
	out, good := run(t, options{config: config(t, ". 0\n", line+stale)})
	const told = "no such survivor any more: ., store."
	if good || !strings.Contains(out, told+"Gone") || strings.Contains(out, told+"Weak") {
		t.Error("the left over one is not told:\n" + out)
	}
}

// TestExpand: dots stand for all packages below, each with the tests of all.
func TestExpand(t *testing.T) {
	given := []target{{path: "./rain", threshold: 1}, {path: "./...", threshold: 2, tests: []string{"./..."}}}
	root, err := filepath.Abs("testdata/sample")
	if err != nil {
		t.Fatal(err)
	}
	got, err := expand(t.Context(), root, given)
	want := []target{given[0], {path: "./.", threshold: 2, tests: []string{"./..."}}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(target{})); err != nil || d != "" {
		t.Error(err, d)
	}
}

// TestSamplesAreDrawnBySeed: the same seed draws the same mutants, another one others.
func TestSamplesAreDrawnBySeed(t *testing.T) {
	var all []mutant
	for i := range 1000 {
		all = append(all, mutant{ID: i})
	}
	draw := func(seed uint64) []mutant {
		chosen, err := choose(all, options{sample: 10, seed: seed})
		if err != nil || len(chosen) != 10 {
			t.Fatal(chosen, err)
		}
		return chosen
	}
	if cmp.Diff(draw(1), draw(1)) != "" {
		t.Error("one seed draws different samples")
	}
	if cmp.Diff(draw(1), draw(2)) == "" {
		t.Error("two seeds draw the same sample")
	}
}

// TestInsert: what wraps a node wraps what wraps its parts, on both sides.
func TestInsert(t *testing.T) {
	got, spans := insert([]byte("a<b"), []insertion{
		{offset: 0, text: "if(", point: 1}, {offset: 3, text: ")", point: 1, closing: true},
		{offset: 0, text: "less(", point: 2}, {offset: 3, text: "]", point: 2, closing: true},
		{offset: 1, length: 1, text: ",", point: 2},
	})
	if want := "if(less(a,b])"; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if id := innermost(spans, 8); id != 2 {
		t.Errorf("around a: point %d", id)
	}
}

// TestBadFiles: what is no target and no acceptance is an error with its line.
func TestBadFiles(t *testing.T) {
	dir := config(t, "rain\n", "# comment\n\nrain\tf\tremove\n")
	_, err := readTargets(filepath.Join(dir, "packages.txt"))
	if err == nil || !strings.Contains(err.Error(), "packages.txt:1:") {
		t.Error(err)
	}
	_, err = readAccepted(filepath.Join(dir, "accepted.txt"))
	if err == nil || !strings.Contains(err.Error(), "accepted.txt:3:") {
		t.Error(err)
	}
}
