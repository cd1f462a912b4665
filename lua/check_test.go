package lua_test

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// keyArguments is where a command has its keys among the arguments of redis.call. all means from there on.
var keyArguments = map[string]struct {
	at  int // 0: none
	all bool
}{
	"TIME": {at: 0}, "UNLINK": {at: 1, all: true},
	"GET": {at: 1}, "SET": {at: 1}, "EXISTS": {at: 1}, "PEXPIRE": {at: 1},
	"HGET": {at: 1}, "HEXISTS": {at: 1}, "HMGET": {at: 1}, "HSET": {at: 1}, "HGETALL": {at: 1}, "XRANGE": {at: 1},
	"LLEN": {at: 1}, "LRANGE": {at: 1}, "LTRIM": {at: 1}, "RPUSH": {at: 1}, "XADD": {at: 1},
	"XLEN": {at: 1}, "XDEL": {at: 1}, "XINFO": {at: 2},
	"HINCRBY": {at: 1}, "HSETNX": {at: 1}, "ZADD": {at: 1}, "ZREM": {at: 1}, "ZSCORE": {at: 1}, "ZRANK": {at: 1},
	"ZREMRANGEBYSCORE": {at: 1}, "ZCOUNT": {at: 1}, "ZRANGEBYSCORE": {at: 1},
	"HDEL": {at: 1}, "LSET": {at: 1}, "LINDEX": {at: 1}, "RPOP": {at: 1},
}

// check tells what is wrong with a script: with its header, or with its use of keys.
func check(file, source string) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	header := headerOf(source)
	if !strings.HasPrefix(source, "-- "+file+": ") {
		fault("line 1 does not say what the script is for")
	}
	for _, section := range []string{"KEYS", "ARGV", "RETURNS", "ATOMICITY"} {
		if len(header[section]) == 0 {
			fault("the header does not say what there is to say about %s", section)
		}
	}
	declared := declaredKeys(header["KEYS"], fault)
	stmts, err := parse.Parse(strings.NewReader(source), file)
	if err != nil {
		fault("syntax: %v", err)
		return faults
	}
	u := &usage{fault: fault, declared: len(declared), used: map[int]bool{}, names: map[string]int{},
		errors: strings.Join(header["RETURNS"], "\n")}
	u.collectNames(reflect.ValueOf(stmts))
	u.walk(reflect.ValueOf(stmts))
	for i := 1; i <= len(declared); i++ {
		if !u.used[i] {
			fault("KEYS[%d] is declared and not used", i)
		}
	}
	return faults
}

// headerOf splits the comment at the top into its sections.
func headerOf(source string) map[string][]string {
	sections := map[string][]string{}
	section := ""
	for line := range strings.SplitSeq(source, "\n") {
		text, ok := strings.CutPrefix(line, "--")
		if !ok {
			break
		}
		switch name := strings.TrimPrefix(text, " "); {
		case name != "" && name == strings.ToUpper(name) && !strings.HasPrefix(name, " "):
			section = name
		case section != "" && strings.TrimSpace(name) != "":
			sections[section] = append(sections[section], name)
		}
	}
	return sections
}

var keyLine = regexp.MustCompile(`^  (\d+)  (rr:\S+)(?: or (rr:\S+))? `)

// declaredKeys reads the section KEYS: numbered lines, each with the key's pattern.
func declaredKeys(lines []string, fault func(string, ...any)) (keys []string) {
	for _, line := range lines {
		m := keyLine.FindStringSubmatch(line)
		if m == nil {
			fault("KEYS: %q names no key", line)
			continue
		}
		if m[1] != strconv.Itoa(len(keys)+1) {
			fault("KEYS: %q is out of order", line)
		}
		keys = append(keys, m[2])
		for _, pattern := range slices.DeleteFunc(m[2:], func(s string) bool { return s == "" }) {
			if strings.Count(pattern, "{") != 1 || strings.Count(pattern, "}") != 1 {
				fault("KEYS: %q has not exactly one hash tag", pattern)
			}
		}
	}
	return keys
}

// usage follows the keys through the script.
type usage struct {
	fault    func(string, ...any)
	declared int
	used     map[int]bool
	names    map[string]int // how often a name is given to something
	aliases  []string       // names given to KEYS[n]
	errors   string         // the header's words about errors
}

// collectNames finds every name that the script gives, and those that stand for a key. A name that is given twice
// is not trusted to.
func (u *usage) collectNames(v reflect.Value) {
	each(v, func(node any) {
		switch n := node.(type) {
		case *ast.LocalAssignStmt:
			for i, name := range n.Names {
				u.names[name]++
				if i < len(n.Exprs) && u.keyIndex(n.Exprs[i]) > 0 {
					u.aliases = append(u.aliases, name)
				}
			}
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				if id, ok := l.(*ast.IdentExpr); ok {
					u.names[id.Value]++
				}
			}
		case *ast.ParList:
			for _, name := range n.Names {
				u.names[name]++
			}
		case *ast.NumberForStmt:
			u.names[n.Name]++
		case *ast.GenericForStmt:
			for _, name := range n.Names {
				u.names[name]++
			}
		}
	})
}

// keyIndex is n for the expression KEYS[n], or 0.
func (u *usage) keyIndex(e ast.Expr) int {
	get, ok := e.(*ast.AttrGetExpr)
	if !ok || !isName(get.Object, "KEYS") {
		return 0
	}
	if n, ok := get.Key.(*ast.NumberExpr); ok {
		i, _ := strconv.Atoi(n.Value)
		return i
	}
	return 0
}

func (u *usage) walk(v reflect.Value) {
	keysSeen, keysByNumber, callsSeen, calls := 0, 0, 0, 0
	each(v, func(node any) {
		switch n := node.(type) {
		case *ast.IdentExpr:
			if n.Value == "KEYS" {
				keysSeen++
			}
		case *ast.AttrGetExpr:
			if i := u.keyIndex(n); i > 0 {
				keysByNumber++
				u.used[i] = true
				if i > u.declared {
					u.fault("KEYS[%d] is not declared", i)
				}
			}
			if isRedis(n, "call") || isRedis(n, "pcall") {
				callsSeen++
			}
		case *ast.FuncCallExpr:
			switch {
			case isRedis(n.Func, "call"), isRedis(n.Func, "pcall"):
				calls++
				u.call(n.Args)
			case isRedis(n.Func, "error_reply"):
				u.errorReply(n.Args[0])
			}
		}
	})
	if keysSeen != keysByNumber {
		u.fault("KEYS is used other than by a number")
	}
	if callsSeen != calls {
		u.fault("redis.call is used other than by calling it")
	}
}

// call checks that the keys of a command are keys that were given.
func (u *usage) call(args []ast.Expr) {
	command, ok := args[0].(*ast.StringExpr)
	if !ok {
		u.fault("a command that is computed")
		return
	}
	where, known := keyArguments[command.Value]
	switch {
	case !known:
		u.fault("%s is a command that this test does not know", command.Value)
		return
	case where.at == 0:
		return
	}
	last := where.at
	if where.all {
		last = len(args) - 1
	}
	for i := where.at; i <= last; i++ {
		id, isIdent := args[i].(*ast.IdentExpr)
		alias := isIdent && slices.Contains(u.aliases, id.Value) && u.names[id.Value] == 1
		if u.keyIndex(args[i]) == 0 && !alias {
			u.fault("line %d: a key of %s is not one of KEYS", args[i].Line(), command.Value)
		}
	}
}

func (u *usage) errorReply(e ast.Expr) {
	for {
		concat, ok := e.(*ast.StringConcatOpExpr)
		if !ok {
			break
		}
		e = concat.Lhs
	}
	text, ok := e.(*ast.StringExpr)
	if !ok {
		u.fault("an error whose name is computed")
		return
	}
	name, _, _ := strings.Cut(text.Value, " ")
	if !strings.Contains(u.errors, "error "+name+" ") {
		u.fault("the header does not tell of the error %s", name)
	}
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.IdentExpr)
	return ok && id.Value == name
}

func isRedis(e ast.Expr, function string) bool {
	get, ok := e.(*ast.AttrGetExpr)
	if !ok || !isName(get.Object, "redis") {
		return false
	}
	key, ok := get.Key.(*ast.StringExpr)
	return ok && key.Value == function
}

// each visits every node below v, parents first.
func each(v reflect.Value, visit func(node any)) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			each(v.Elem(), visit)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			visit(v.Interface())
			each(v.Elem(), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			each(v.Index(i), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				each(v.Field(i), visit)
			}
		}
	}
}
