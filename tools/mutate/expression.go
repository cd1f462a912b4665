package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"path"
	"strconv"
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

// number makes another number of a constant, and the other truth of a bool. e is the whole of a constant expression.
func (f *finder) number(e ast.Expr) {
	tv := f.info.Types[e]
	if f.partOfConstant() || f.fixed(e) {
		return
	}
	if n, ok := f.parent(0).(*ast.ReturnStmt); ok && f.fails(n, 1) {
		return
	}
	if isBool(tv.Type) {
		if _, returned := f.parent(0).(*ast.ReturnStmt); returned {
			return // results does it
		}
		if id, ok := f.point(e, [2]string{"constant", f.code(e) + " → the contrary"}); ok {
			f.wrap(id, e, fmt.Sprintf("mutateNot(%d, ", id), ")")
		}
		return
	}
	if !isNumeric(tv.Type) {
		return
	}
	name, ok := f.spell(types.Default(tv.Type))
	if !ok {
		return
	}
	other, ok := another(tv.Value, tv.Type)
	if !ok {
		return
	}
	if id, ok := f.point(e, [2]string{"constant", f.code(e) + " → " + other}); ok {
		f.wrap(id, e, fmt.Sprintf("mutateOr(%d, %s(", id, name), fmt.Sprintf("), %s(%s))", name, other))
	}
}

// another is the number that stands for a constant in its mutant: one more where it is small, since tests count
// then, else one that is out of all proportion.
func another(v constant.Value, t types.Type) (text string, ok bool) {
	if v.Kind() != constant.Int {
		if v.Kind() != constant.Float {
			return "", false
		}
		x, _ := constant.Float64Val(v)
		return strconv.FormatFloat(x*2+1, 'g', -1, 64), true
	}
	x, exact := constant.Int64Val(v)
	switch {
	case !exact:
		return "", false
	case x >= 0 && x <= 16:
		x++
	case x > 1<<58 || x < -1<<58:
		return "", false
	case x < 0:
		x *= -20
	default:
		x *= 20
	}
	// A byte, say, does not hold twenty times as much.
	basic, ok := t.Underlying().(*types.Basic)
	if !ok {
		return "", false
	}
	most := map[types.BasicKind]int64{
		types.Int8: 1<<7 - 1, types.Uint8: 1<<8 - 1, types.Int16: 1<<15 - 1, types.Uint16: 1<<16 - 1, types.Int32: 1<<31 - 1,
		types.Uint32: 1<<32 - 1, types.UntypedRune: 1<<31 - 1,
	}[basic.Kind()]
	if most > 0 && x > most {
		x = x/20 - 1
	}
	return strconv.FormatInt(x, 10), true
}

// fixed says whether a constant has to be one, or is one whose mutant another place makes.
func (f *finder) fixed(e ast.Expr) bool {
	switch p := f.parent(0).(type) {
	case *ast.CaseClause:
		return true
	case *ast.BinaryExpr:
		return comparison(p) || p.Op == token.SHL || p.Op == token.SHR // the comparison's own mutants say more
	case *ast.KeyValueExpr:
		return p.Key == e // an index or a field
	case *ast.SelectorExpr, *ast.Field, nil:
		return true
	}
	return false
}

// partOfConstant says whether the visited constant is a part of a larger one.
func (f *finder) partOfConstant() bool {
	p, ok := f.parent(0).(ast.Expr)
	if !ok {
		return false
	}
	if call, ok := p.(*ast.CallExpr); ok && !f.constant(call) {
		return false
	}
	if s, ok := p.(*ast.SelectorExpr); ok && s.Sel == f.stack[len(f.stack)-1] {
		return true
	}
	return f.constant(p)
}

func (f *finder) constant(e ast.Expr) bool { return f.info.Types[e].Value != nil }

// zero says whether an expression is the zero value, as which it could only be returned again.
func (f *finder) zero(e ast.Expr) bool {
	tv := f.info.Types[e]
	if tv.IsNil() {
		return true
	}
	if c, ok := ast.Unparen(e).(*ast.CompositeLit); ok {
		return len(c.Elts) == 0
	}
	if tv.Value == nil || isBool(tv.Type) {
		return false
	}
	switch tv.Value.Kind() {
	case constant.String:
		return constant.StringVal(tv.Value) == ""
	case constant.Int, constant.Float:
		return constant.Sign(tv.Value) == 0
	}
	return false
}

// spell writes a type down as the file that is visited may.
func (f *finder) spell(t types.Type) (string, bool) {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		return types.Default(t).String(), true
	case *types.Named:
		o := t.Obj()
		if t.TypeArgs().Len() > 0 {
			return "", false
		}
		if o.Pkg() == nil || o.Pkg().Path() == f.ImportPath {
			return o.Name(), o.Parent() != nil && o.Parent().Parent() == types.Universe
		}
		for _, i := range f.files[f.file].Imports {
			if p, _ := strconv.Unquote(i.Path.Value); p == o.Pkg().Path() {
				if i.Name != nil {
					return i.Name.Name + "." + o.Name(), true
				}
				return o.Pkg().Name() + "." + o.Name(), path.Base(p) != ""
			}
		}
	}
	return "", false
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
