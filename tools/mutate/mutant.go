package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is one change of the code, which the running test binary can switch on.
type mutant struct {
	ID     int // from 1; what MUTATE_ACTIVE names
	Point  int // the first mutant of the same place: reaching one is reaching all
	Kind   string
	File   string // relative to the module
	Line   int
	Func   string // as Type.Method
	Source string // the line
	Change string // original → mutant
}

// insertion is a text that the rewritten file has in addition, or, with length, instead of what stands there.
type insertion struct {
	offset  int
	length  int
	text    string
	point   int
	closing bool // stands behind a node: at one offset it comes before what begins there
}

// finder looks for the points of one file.
type finder struct {
	*source
	file    int // index into files
	next    *int
	mutants []mutant
	inserts []insertion
	dropped map[int]bool // points that do not compile
	stack   []ast.Node
}

// point makes the mutants of one place and returns the number of the first. A place that does not compile when it
// is rewritten, or is not to be mutated, has none: ok is false.
func (f *finder) point(n ast.Node, kinds ...[2]string) (id int, ok bool) {
	id = *f.next
	*f.next += len(kinds)
	if f.dropped[id] {
		return 0, false
	}
	position := f.fset.Position(n.Pos())
	name, err := filepath.Rel(f.root, position.Filename)
	if err != nil {
		name = position.Filename
	}
	for i, k := range kinds {
		f.mutants = append(f.mutants, mutant{
			ID: id + i, Point: id, Kind: k[0], File: filepath.ToSlash(name), Line: position.Line, Func: f.function(),
			Source: f.line(position), Change: k[1],
		})
	}
	return id, true
}

func (f *finder) offset(p token.Pos) int { return f.fset.Position(p).Offset }

// wrap puts a text before and one behind a node.
func (f *finder) wrap(id int, n ast.Node, before, behind string) {
	f.inserts = append(f.inserts,
		insertion{offset: f.offset(n.Pos()), text: before, point: id},
		insertion{offset: f.offset(n.End()), text: behind, point: id, closing: true})
}

func (f *finder) replace(id int, pos token.Pos, length int, text string) {
	f.inserts = append(f.inserts, insertion{offset: f.offset(pos), length: length, text: text, point: id})
}

// code is a node's source in one line, cut where it is long.
func (f *finder) code(n ast.Node) string {
	const most = 70
	text := string(f.text[f.file][f.offset(n.Pos()):f.offset(n.End())])
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}

func (f *finder) line(p token.Position) string {
	text := f.text[f.file]
	begin := p.Offset - (p.Column - 1)
	line, _, _ := strings.Cut(string(text[begin:]), "\n")
	return strings.TrimSpace(line)
}

// function is the function around the node that is visited: Type.Method, or the name, or "" outside of all.
func (f *finder) function() string {
	i := slices.IndexFunc(f.stack, func(n ast.Node) bool { _, ok := n.(*ast.FuncDecl); return ok })
	if i < 0 {
		return ""
	}
	name := f.stack[i].(*ast.FuncDecl).Name //nolint:forcetypeassert // just found
	t := f.signature(f.stack[i]).Recv()
	if t == nil {
		return name.Name
	}
	receiver := t.Type()
	if p, ok := receiver.(*types.Pointer); ok {
		receiver = p.Elem()
	}
	return types.Unalias(receiver).(*types.Named).Obj().Name() + "." + name.Name //nolint:forcetypeassert // has methods
}

// signature is that of a function, nil of anything else.
func (f *finder) signature(n ast.Node) *types.Signature {
	var t types.Type
	switch n := n.(type) {
	case *ast.FuncDecl:
		t = f.info.Defs[n.Name].Type()
	case *ast.FuncLit:
		t = f.info.TypeOf(n)
	}
	s, _ := t.(*types.Signature)
	return s
}

// parent is the node i levels above the one that is visited; 0 is its direct parent.
func (f *finder) parent(i int) ast.Node {
	if k := len(f.stack) - 2 - i; k >= 0 {
		return f.stack[k]
	}
	return nil
}

// find walks through the file.
func (f *finder) find() {
	ast.Inspect(f.files[f.file], func(n ast.Node) bool {
		if n == nil {
			f.stack = f.stack[:len(f.stack)-1]
			return true
		}
		if f.excluded(n) {
			return false
		}
		f.stack = append(f.stack, n)
		f.statement(n)
		if e, ok := n.(ast.Expr); ok {
			f.expression(e)
		}
		return true
	})
}
