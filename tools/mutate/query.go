package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"regexp"
	"strconv"
	"strings"
)

var (
	sqlWords     = regexp.MustCompile(`\b(SELECT|UPDATE|DELETE|INSERT|WHERE|FROM|AND|JOIN)\b`)
	sqlCondition = regexp.MustCompile(`([\w.]+) (=|<>|<=|>=|<|>) (\?|'[^']*'|[\w.]+)`)
	sqlSet       = regexp.MustCompile(`(?s)\bSET\b.*?(\bWHERE\b|$)`)
)

// query makes the mutants of an SQL text: each condition does not matter, and each boundary is moved by one.
func (f *finder) query(e ast.Expr) {
	v := f.info.Types[e]
	if !types.Identical(types.Default(v.Type), types.Typ[types.String]) {
		return
	}
	text := constant.StringVal(v.Value)
	if !sqlWords.MatchString(text) {
		return
	}
	var kinds [][2]string
	var mutants []string
	mutant := func(begin, end int, old, instead, change string) {
		kinds = append(kinds, [2]string{"sql", old + " → " + change})
		mutants = append(mutants, strconv.Quote(text[:begin]+instead+text[end:]))
	}
	for _, at := range sqlCondition.FindAllStringSubmatchIndex(text, -1) {
		if within(at[0], sqlSet.FindAllStringIndex(text, -1)) {
			continue
		}
		condition := text[at[0]:at[1]]
		mutant(at[0], at[1], condition, "("+condition+" OR 1 = 1)", "left out")
		if other, ok := sqlBoundaries[text[at[4]:at[5]]]; ok {
			mutant(at[4], at[5], condition, other, other)
		}
	}
	if len(kinds) == 0 {
		return
	}
	if id, ok := f.point(e, kinds...); ok {
		f.wrap(id, e, fmt.Sprintf("mutateText(%d, ", id), ", "+strings.Join(mutants, ", ")+")")
	}
}

var sqlBoundaries = map[string]string{"<": "<=", "<=": "<", ">": ">=", ">=": ">"}

// within says whether a place lies in a SET clause: what stands there is no condition.
func within(at int, ranges [][]int) bool {
	for _, r := range ranges {
		if r[0] <= at && at < r[1] {
			return true
		}
	}
	return false
}
