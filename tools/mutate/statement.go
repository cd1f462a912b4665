package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
)

// statement makes the mutants of what is done: statements left out, loops that never run, cases never taken.
func (f *finder) statement(n ast.Node) {
	switch n := n.(type) {
	case *ast.BlockStmt:
		f.removeAny(n.List)
	case *ast.CaseClause:
		f.cases(n)
		f.removeAny(n.Body)
	case *ast.CommClause:
		f.channel(n)
		f.removeAny(n.Body)
	case *ast.IfStmt:
		f.condition(n)
	case *ast.ForStmt:
		if n.Cond != nil && !f.constant(n.Cond) {
			if id, ok := f.point(n.Cond, [2]string{"loop", "for " + f.code(n.Cond) + " → never"}); ok {
				f.wrap(id, n.Cond, fmt.Sprintf("mutateFalse(%d, ", id), ")")
			}
		}
	case *ast.RangeStmt:
		if id, ok := f.point(n.X, [2]string{"loop", "range " + f.code(n.X) + " → never"}); ok {
			f.inserts = append(f.inserts, insertion{
				offset: f.offset(n.Body.Lbrace) + 1, text: fmt.Sprintf(" if mutateOn(%d) { break }; ", id), point: id,
			})
		}
	case *ast.ReturnStmt:
		f.results(n)
	}
}

// condition makes an if that is always taken and one that never is.
func (f *finder) condition(n *ast.IfStmt) {
	if f.constant(n.Cond) {
		return
	}
	text := f.code(n.Cond)
	always := [2]string{"if-true", "if " + text + " → if true"}
	never := [2]string{"if-false", "if " + text + " → if false"}
	if id, ok := f.point(n.Cond, always, never); ok {
		f.wrap(id, n.Cond, fmt.Sprintf("mutateIf(%d, ", id), ")")
	}
}

func (f *finder) removeAny(list []ast.Stmt) {
	for _, s := range list {
		if !f.removable(s) {
			continue
		}
		text := f.code(s)
		if id, ok := f.point(s, [2]string{"remove", text + " → (nothing)"}); ok {
			f.wrap(id, s, fmt.Sprintf("if !mutateOn(%d) { ", id), " }")
		}
	}
}

func (f *finder) removable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ExprStmt:
		call, ok := ast.Unparen(s.X).(*ast.CallExpr)
		return !ok || !f.excludedCall(call) && !f.unremovable(call, false)
	case *ast.DeferStmt:
		return !f.excludedCall(s.Call) && !f.unremovable(s.Call, true)
	case *ast.GoStmt, *ast.IncDecStmt, *ast.SendStmt:
		return true
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE && !f.blank(s)
	case *ast.BranchStmt:
		return s.Tok == token.BREAK || s.Tok == token.CONTINUE
	}
	return false
}

// blank says whether an assignment assigns to _ only and calls nothing.
func (f *finder) blank(s *ast.AssignStmt) bool {
	for _, l := range s.Lhs {
		if id, ok := l.(*ast.Ident); !ok || id.Name != "_" {
			return false
		}
	}
	for _, r := range s.Rhs {
		if _, ok := ast.Unparen(r).(*ast.CallExpr); ok {
			return false
		}
	}
	return true
}

// cases makes each value of a case one that never comes.
func (f *finder) cases(n *ast.CaseClause) {
	for _, e := range n.List {
		t := f.info.TypeOf(e)
		if t == nil || f.info.Types[e].IsType() {
			continue
		}
		basic, ok := t.Underlying().(*types.Basic)
		if !ok {
			continue
		}
		wrapper := "mutateCaseNumber"
		switch {
		case basic.Info()&types.IsBoolean != 0:
			wrapper = "mutateFalse"
		case basic.Info()&types.IsString != 0:
			wrapper = "mutateCaseText"
		case basic.Info()&types.IsNumeric == 0:
			continue
		}
		before, behind := "", ""
		if f.constant(e) && wrapper != "mutateFalse" {
			name, ok := f.spell(t)
			if !ok {
				continue
			}
			before, behind = name+"(", ")"
		}
		if id, ok := f.point(e, [2]string{"case", "case " + f.code(e) + " → never"}); ok {
			f.wrap(id, e, fmt.Sprintf("%s(%d, %s", wrapper, id, before), behind+")")
		}
	}
}

// channel makes the case of a select one that is never ready.
func (f *finder) channel(n *ast.CommClause) {
	var ch ast.Expr
	switch s := n.Comm.(type) {
	case *ast.SendStmt:
		ch = s.Chan
	case *ast.ExprStmt:
		ch = received(s.X)
	case *ast.AssignStmt:
		ch = received(s.Rhs[0])
	}
	if ch == nil {
		return
	}
	if id, ok := f.point(n, [2]string{"select", "case " + f.code(n.Comm) + " → never"}); ok {
		f.wrap(id, ch, fmt.Sprintf("mutateZero(%d, ", id), ")")
	}
}

func received(e ast.Expr) ast.Expr {
	if u, ok := ast.Unparen(e).(*ast.UnaryExpr); ok && u.Op == token.ARROW {
		return u.X
	}
	return nil
}

// results makes each value that is returned the zero value, and the other truth.
func (f *finder) results(n *ast.ReturnStmt) {
	types := f.resultTypes()
	if len(types) != len(n.Results) {
		return
	}
	for i, e := range n.Results {
		if i < len(n.Results)-1 && f.fails(n, 0) {
			continue
		}
		f.result(e, types[i])
	}
}

func (f *finder) result(e ast.Expr, want types.Type) {
	text := "return " + f.code(e)
	have := f.info.TypeOf(e)
	switch {
	case have == nil || f.zero(e) || logical(e) || comparison(e):
		return // the same value; or there are mutants inside that say more
	case want.String() == "error":
		if f.underError(0) {
			return // the if has the mutant that goes on as if there were none
		}
		if id, ok := f.point(e, [2]string{"return", text + " → nil"}); ok {
			f.wrap(id, e, fmt.Sprintf("mutateErr(%d, ", id), ")")
		}
	case isBool(want):
		if id, ok := f.point(e, [2]string{"return", text + " → the contrary"}); ok {
			f.wrap(id, e, fmt.Sprintf("mutateNot(%d, ", id), ")")
		}
	case f.constant(e) && isNumeric(have): // expression does it
	case types.Identical(have, want) && (!f.constant(e) || types.Identical(want, types.Typ[types.String])):
		if id, ok := f.point(e, [2]string{"return", text + " → zero"}); ok {
			f.wrap(id, e, fmt.Sprintf("mutateZero(%d, ", id), ")")
		}
	}
}

// resultTypes are those of the function around the statement that is visited.
func (f *finder) resultTypes() (list []types.Type) {
	for _, around := range slices.Backward(f.stack) {
		if s := f.signature(around); s != nil {
			for v := range s.Results().Variables() {
				list = append(list, v.Type())
			}
			break
		}
	}
	return list
}

// underError says whether the return, level above the visited node, stands directly in an `if err != nil`.
func (f *finder) underError(level int) bool {
	block, ok := f.parent(level).(*ast.BlockStmt)
	if !ok {
		return false
	}
	n, ok := f.parent(level + 1).(*ast.IfStmt)
	if !ok || n.Body != block {
		return false
	}
	c, ok := n.Cond.(*ast.BinaryExpr)
	return ok && c.Op == token.NEQ && f.typeName(c.X) == "error" && f.info.Types[c.Y].IsNil()
}

// fails says whether a return surely returns an error, or false as its last value: nobody reads its other values.
func (f *finder) fails(n *ast.ReturnStmt, level int) bool {
	if len(n.Results) < 2 {
		return false
	}
	last := ast.Unparen(n.Results[len(n.Results)-1])
	if v := f.info.Types[last].Value; v != nil && v.Kind() == constant.Bool && !constant.BoolVal(v) {
		return true
	}
	if t := f.info.TypeOf(last); t == nil || !types.Implements(t, errorType) {
		return false
	}
	switch e := last.(type) {
	case *ast.CallExpr:
		name := f.callee(e)
		return name == "errors.New" || name == "fmt.Errorf" || f.underError(level)
	case *ast.Ident:
		return f.global(e) || f.underError(level)
	case *ast.SelectorExpr:
		return f.global(e.Sel) || f.underError(level)
	}
	return true
}

var errorType = types.Universe.Lookup("error").Type().Underlying().(*types.Interface) //nolint:forcetypeassert // is one

func (f *finder) global(id *ast.Ident) bool {
	v, ok := f.info.Uses[id].(*types.Var)
	return ok && !v.IsField() && v.Pkg() != nil && v.Parent() == v.Pkg().Scope()
}
