package reconcile_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"redrain/payout/paytest"
)

// heard is what a ledger has asked its database: each statement once for each place in the code that it comes from.
type heard struct {
	mu         sync.Mutex
	seen       map[string]bool
	statements []statement
}

// statement is one as it was sent, and who has sent it.
type statement struct {
	text string
	args []any
	by   string // package.function
	at   place
}

// place is a line of the code.
type place struct {
	file string // from the root of the repository
	line int
}

// asking are the directories with code that sends statements.
var asking = []string{"payout", "server/history"}

// askingFile is a file of asking, from the root of the repository; false for other files.
func askingFile(path string) (file string, ok bool) {
	for _, dir := range asking {
		if _, file, ok = strings.Cut(filepath.ToSlash(path), "/"+dir+"/"); ok {
			return dir + "/" + file, true
		}
	}
	return "", false
}

// listIn is the list of an IN, of any length.
var listIn = regexp.MustCompile(`\((\?,)+\?\)`)

// hear is for sqldb.DB.Heard.
func (h *heard) hear(text string, args []any) {
	s := statement{text: text, args: args}
	var callers [32]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for {
		frame, more := frames.Next()
		file, asks := askingFile(frame.File)
		if strings.Contains(frame.Function, "/internal/sqldb.") && more {
			continue
		}
		if !asks || strings.HasPrefix(file, "payout/paytest/") || strings.HasSuffix(file, "_test.go") {
			return // a test's own
		}
		s.at = place{file, frame.Line}
		s.by, _, _ = strings.Cut(filepath.Base(frame.Function), ".func")
		break
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if key := s.by + " " + listIn.ReplaceAllString(text, "(…)"); !h.seen[key] {
		h.seen[key] = true
		h.statements = append(h.statements, s)
	}
}

// queryCall is a place in the code that sends a statement.
type queryCall struct {
	file        string
	first, last int
}

// queryCalls are all of them.
func queryCalls(t *testing.T) (calls []queryCall) {
	t.Helper()
	for _, dir := range asking {
		paytest.Must(t, filepath.WalkDir("../../"+dir, func(path string, _ fs.DirEntry, err error) error {
			name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
			if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
				strings.HasPrefix(name, "payout/paytest/") {
				return err
			}
			of, err := queryCallsOf(path, name)
			calls = append(calls, of...)
			return err
		}))
	}
	return calls
}

// queryCallsOf are those of the file at a path, under its name from the root of the repository.
func queryCallsOf(path, name string) (calls []queryCall, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && sendsStatement(call) {
			calls = append(calls, queryCall{name, files.Position(call.Pos()).Line, files.Position(call.End()).Line})
		}
		return true
	})
	return calls, nil
}

// sendsStatement tells whether a call is one of those of sqldb that send a statement, but for INSERT … VALUES.
func sendsStatement(call *ast.CallExpr) bool {
	var name *ast.Ident
	switch fun := call.Fun.(type) {
	case *ast.SelectorExpr:
		name = fun.Sel
	case *ast.IndexExpr: // of a type
		if fun, ok := fun.X.(*ast.SelectorExpr); ok {
			name = fun.Sel
		}
	case *ast.IndexListExpr: // of several types
		if fun, ok := fun.X.(*ast.SelectorExpr); ok {
			name = fun.Sel
		}
	}
	if name == nil || len(call.Args) < 2 {
		return false
	}
	ctx, ok := call.Args[0].(*ast.Ident)
	switch name.Name {
	case "Each", "First", "Exec", "List", "Column", "EachIn", "PairsIn", "Find", "ListPage":
		return ok && ctx.Name == "ctx"
	}
	return false
}
