package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
)

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
	if tv.Value.Kind() == constant.String {
		f.query(e)
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
		types.Int8: 1<<7 - 1, types.Uint8: 1<<8 - 1, types.Int16: 1<<15 - 1, types.Uint16: 1<<16 - 1,
		types.Int32: 1<<31 - 1, types.Uint32: 1<<32 - 1, types.UntypedRune: 1<<31 - 1,
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
				return o.Pkg().Name() + "." + o.Name(), true
			}
		}
	}
	return "", false
}
