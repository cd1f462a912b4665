package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// excluded says whether nothing inside a node is worth a mutant. Each rule has its reason.
func (f *finder) excluded(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok != token.VAR // nothing runs
	case *ast.ArrayType:
		return true // a length must be constant
	case *ast.FuncDecl:
		return n.Name.Name == "init" && n.Recv == nil
	case *ast.CallExpr:
		return f.excludedCall(n)
	case *ast.CompositeLit:
		// What a metric is called, what its help says, and where its buckets lie is for dashboards.
		return strings.HasPrefix(f.typeName(n), "github.com/prometheus/client_golang/prometheus.")
	}
	return false
}

func (f *finder) excludedCall(call *ast.CallExpr) bool {
	name := f.callee(call)
	switch name {
	case "make", // a size is a hint, or shows at once
		"errors.New", "fmt.Errorf", // the text is for people; that there is an error is another mutant
		"panic", "os.Exit": // says that what cannot be has happened
		return true
	}
	return strings.HasPrefix(name, "log/slog.") || strings.HasPrefix(name, "(*log/slog.Logger).") || // for people
		strings.HasSuffix(name, "/faults.Point") // does nothing but in builds that kill the process there
}

// unremovable says whether the removal of a call tells nothing. It may have mutants inside all the same.
func (f *finder) unremovable(call *ast.CallExpr, deferred bool) bool {
	name := f.callee(call)
	switch {
	case strings.HasPrefix(name, "(*sync."), strings.HasPrefix(name, "(sync.Locker)."):
		// One lock or unlock less is a deadlock or a crash at once; a pair less is seen by the race detector only.
		return strings.HasSuffix(name, "ock")
	case deferred && f.isCancel(call): // lets go of a timer earlier than the deadline would
		return true
	}
	return name == "runtime.KeepAlive" || name == "runtime.Gosched"
}

func (f *finder) isCancel(call *ast.CallExpr) bool {
	t := f.info.TypeOf(call.Fun)
	return t != nil && t.String() == "context.CancelFunc"
}

// callee names what is called: pkg/path.Func, (*pkg/path.Type).Method, or a builtin's name.
func (f *finder) callee(call *ast.CallExpr) string {
	fun := ast.Unparen(call.Fun)
	if i, ok := fun.(*ast.IndexExpr); ok {
		fun = i.X
	}
	var id *ast.Ident
	switch x := fun.(type) {
	case *ast.Ident:
		id = x
	case *ast.SelectorExpr:
		id = x.Sel
	default:
		return ""
	}
	switch o := f.info.Uses[id].(type) {
	case *types.Func:
		return o.FullName()
	case *types.Builtin:
		return o.Name()
	}
	return ""
}

func (f *finder) typeName(e ast.Expr) string {
	if t := f.info.TypeOf(e); t != nil {
		return t.String()
	}
	return ""
}
