package main

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

//go:embed switch.go.txt
var switches string

// rewritten is a package with all its mutants in it, each behind a switch.
type rewritten struct {
	mutants []mutant
	files   map[string][]byte // by the name of the file that they stand for
	dropped int               // mutants that did not compile
}

// span is what a point has become in a rewritten file.
type span struct{ begin, end, point int }

// rewrite puts all mutants into the package. What does not compile then is left out, until all does.
func rewrite(s *source) (*rewritten, error) {
	dropped := map[int]bool{}
	const most = 20
	for range most {
		r, spans := s.once(dropped)
		bad := s.misfits(r, spans)
		if len(bad) == 0 {
			r.dropped = len(dropped)
			return r, nil
		}
		for id := range bad {
			dropped[id] = true
		}
	}
	return nil, fmt.Errorf("%s: does not compile with mutants in it", s.ImportPath)
}

// once rewrites every file, without the points that are known not to compile.
func (s *source) once(dropped map[int]bool) (*rewritten, map[string][]span) {
	r := &rewritten{files: map[string][]byte{}}
	spans := map[string][]span{}
	next := 1
	for i, name := range s.names {
		f := &finder{source: s, file: i, next: &next, dropped: dropped}
		if !ast.IsGenerated(s.files[i]) {
			f.find()
		}
		r.mutants = append(r.mutants, f.mutants...)
		r.files[name], spans[name] = insert(s.text[i], f.inserts)
	}
	text := strings.Replace(switches, "package PACKAGE", "package "+s.Name, 1)
	text = strings.Replace(text, "[POINTS]", "["+strconv.Itoa(next+1)+"]", 1)
	r.files[filepath.Join(s.Dir, "mutate_switches.go")] = []byte(text)
	return r, spans
}

// insert writes a text with the insertions in it, and says where each point lies then.
func insert(text []byte, list []insertion) ([]byte, []span) {
	// At one offset, what was opened last is closed first, before anything is opened.
	var order []insertion
	for _, e := range slices.Backward(list) {
		if e.closing {
			order = append(order, e)
		}
	}
	for _, e := range list {
		if !e.closing {
			order = append(order, e)
		}
	}
	slices.SortStableFunc(order, func(a, b insertion) int { return cmp.Compare(a.offset, b.offset) })
	var out []byte
	at := map[int]*span{}
	done := 0
	for _, e := range order {
		out = append(out, text[done:e.offset]...)
		done = e.offset + e.length
		if at[e.point] == nil {
			at[e.point] = &span{begin: len(out), point: e.point}
		}
		out = append(out, e.text...)
		at[e.point].end = len(out)
	}
	out = append(out, text[done:]...)
	spans := make([]span, 0, len(at))
	for _, p := range at {
		spans = append(spans, *p)
	}
	return out, spans
}

// misfits type-checks the rewritten package and returns the points that must go for it to compile.
func (s *source) misfits(r *rewritten, spans map[string][]span) map[int]bool {
	fset := token.NewFileSet()
	var files []*ast.File
	for name, text := range r.files {
		tree, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			panic(fmt.Sprintf("%v\n%s", err, text)) // a fault of this program
		}
		files = append(files, tree)
	}
	bad := map[int]bool{}
	for _, e := range s.check(fset, files, nil) {
		at := fset.Position(e.Pos)
		bad[innermost(spans[at.Filename], at.Offset)] = true
	}
	return bad
}

// innermost is the smallest point around an offset; where none is, the last one before it.
func innermost(spans []span, offset int) int {
	best, size := 0, 1<<60
	for _, p := range spans {
		if p.begin <= offset && offset < p.end && p.end-p.begin < size {
			best, size = p.point, p.end-p.begin
		}
	}
	if best > 0 {
		return best
	}
	last := -1
	for _, p := range spans {
		if p.begin <= offset && p.begin > last {
			best, last = p.point, p.begin
		}
	}
	return best
}

// overlay writes the rewritten files to dir, and the file that tells the compiler to use them.
func (r *rewritten) overlay(dir string) (string, error) {
	replace := map[string]string{}
	i := 0
	for name, text := range r.files {
		i++
		file := filepath.Join(dir, fmt.Sprintf("%d-%s", i, filepath.Base(name)))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return "", err
		}
		replace[name] = file
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, text, 0o600)
}
