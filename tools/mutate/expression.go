package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

var boundaries = map[token.Token][2]string{
	token.LSS: {"mutateLess", "<="},
	token.LEQ: {"mutateLessEqual", "<"},
	token.GTR: {"mutateGreater", ">="},
	token.GEQ: {"mutateGreaterEqual", ">"},
}

var arithmetic = map[token.Token][2]string{
	token.ADD:     {"mutateAdd", "-"},
	token.SUB:     {"mutateSub", "+"},
	token.MUL:     {"mutateMul", "/"},
	token.QUO:     {"mutateDiv", "*"},
	token.REM:     {"mutateRem", "/"},
	token.AND:     {"mutateBitAnd", "|"},
	token.OR:      {"mutateBitOr", "&"},
	token.XOR:     {"mutateXor", "&^"},
	token.AND_NOT: {"mutateAndNot", "&"},
	token.SHL:     {"mutateShl", ">>"},
	token.SHR:     {"mutateShr", "<<"},
}

// expression makes the mutants of what is computed.
func (f *finder) expression(e ast.Expr) {
	if f.constant(e) {
		f.number(e)
		return
	}
	f.operand(e)
	switch e := e.(type) {
	case *ast.BinaryExpr:
		f.binary(e)
	case *ast.UnaryExpr:
		f.unary(e)
	case *ast.CallExpr:
		f.extreme(e)
	}
}

// operand makes the condition that does not ask for one of its parts: a && b → b, a || b → b.
func (f *finder) operand(e ast.Expr) {
	parent, ok := f.parent(0).(*ast.BinaryExpr)
	if !ok || !logical(parent) || sameOperator(e, parent.Op) {
		return
	}
	id, ok := f.point(e, [2]string{"operand", parent.Op.String() + " " + f.code(e) + " → left out"})
	switch {
	case !ok:
	case parent.Op == token.LAND:
		f.wrap(id, e, fmt.Sprintf("(mutateOn(%d) || ", id), ")")
	default:
		f.wrap(id, e, fmt.Sprintf("(!mutateOn(%d) && (", id), "))")
	}
}

func (f *finder) binary(e *ast.BinaryExpr) {
	if w, ok := boundaries[e.Op]; ok {
		f.operator(e, "boundary", w)
	}
	if comparison(e) && !f.asked() {
		if id, ok := f.point(e, [2]string{"negate", f.code(e) + " → the contrary"}); ok {
			f.wrap(id, e, fmt.Sprintf("mutateNot(%d, ", id), ")")
		}
	}
	if w, ok := arithmetic[e.Op]; ok && isNumeric(f.info.TypeOf(e)) {
		f.operator(e, "arithmetic", w)
	}
}

// operator turns a op b into a call of the wrapper, which has another operator for the mutant.
func (f *finder) operator(e *ast.BinaryExpr, kind string, w [2]string) {
	id, ok := f.point(e, [2]string{kind, f.code(e) + ": " + e.Op.String() + " → " + w[1]})
	if !ok {
		return
	}
	f.wrap(id, e, fmt.Sprintf("%s(%d, ", w[0], id), ")")
	f.replace(id, e.OpPos, len(e.Op.String()), ",")
}

// asked says whether the visited condition is one that another mutant decides: of an if, a for, a case, && or ||.
func (f *finder) asked() bool {
	i := 0
	for ; ; i++ {
		if _, ok := f.parent(i).(*ast.ParenExpr); !ok {
			break
		}
	}
	switch p := f.parent(i).(type) {
	case *ast.IfStmt, *ast.ForStmt, *ast.CaseClause:
		return true
	case *ast.BinaryExpr:
		return logical(p)
	}
	return false
}

func (f *finder) unary(e *ast.UnaryExpr) {
	switch e.Op {
	case token.NOT:
		if _, returned := f.parent(0).(*ast.ReturnStmt); returned || f.asked() {
			return
		}
		if id, ok := f.point(e, [2]string{"negate", f.code(e) + " → the contrary"}); ok {
			f.wrap(id, e, fmt.Sprintf("mutateNot(%d, ", id), ")")
		}
	case token.SUB:
		if id, ok := f.point(e, [2]string{"arithmetic", f.code(e) + ": - → +"}); ok {
			f.wrap(id, e, fmt.Sprintf("mutateNegate(%d, ", id), ")")
		}
	}
}

// extreme makes max of min and min of max.
func (f *finder) extreme(e *ast.CallExpr) {
	wrapper := map[string]string{"min": "mutateMin", "max": "mutateMax"}[f.callee(e)]
	if wrapper == "" || len(e.Args) != 2 {
		return
	}
	if id, ok := f.point(e, [2]string{"arithmetic", f.code(e) + ": min ↔ max"}); ok {
		f.replace(id, e.Fun.Pos(), int(e.Lparen-e.Fun.Pos())+1, fmt.Sprintf("%s(%d, ", wrapper, id))
	}
}

func logical(e ast.Expr) bool {
	b, ok := ast.Unparen(e).(*ast.BinaryExpr)
	return ok && (b.Op == token.LAND || b.Op == token.LOR)
}

func sameOperator(e ast.Expr, op token.Token) bool {
	b, ok := e.(*ast.BinaryExpr)
	return ok && b.Op == op
}

func comparison(e ast.Expr) bool {
	b, ok := ast.Unparen(e).(*ast.BinaryExpr)
	if !ok {
		return false
	}
	switch b.Op {
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		return true
	}
	return false
}

func isBool(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

func isNumeric(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0 && b.Info()&types.IsComplex == 0
}
