package lua_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/parse"
)

// keyAt is the position of a command's key among the arguments of redis.call; 0: no key. UNLINK has keys from there on.
var keyAt = func() map[string]int {
	at := map[string]int{"TIME": 0, "XINFO": 2}
	for command := range strings.FieldsSeq(`GET SET EXISTS PEXPIRE UNLINK HGET HEXISTS HMGET HSET HGETALL HDEL HINCRBY
		HSETNX LLEN LRANGE LTRIM LSET LINDEX RPUSH RPOP XADD XLEN XDEL XRANGE ZADD ZREM ZSCORE ZRANK ZREMRANGEBYSCORE
		ZCOUNT ZRANGEBYSCORE`) {
		at[command] = 1
	}
	return at
}()

// check returns the faults of a script's header and of its use of keys.
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
	if _, err := parse.Parse(strings.NewReader(source), file); err != nil {
		fault("syntax: %v", err)
		return faults
	}
	code := comment.ReplaceAllString(source, "")
	used := indices(numbered, code)
	for i := range declared {
		if !slices.Contains(used, strconv.Itoa(i+1)) {
			fault("KEYS[%d] is declared and not used", i+1)
		}
	}
	for _, n := range used {
		if i, _ := strconv.Atoi(n); i > len(declared) {
			fault("KEYS[%d] is not declared", i)
		}
	}
	if len(used) != len(anyKey.FindAllString(code, -1)) {
		fault("KEYS is used other than by a number")
	}
	if len(call.FindAllString(code, -1)) != len(anyCall.FindAllString(code, -1)) {
		fault("redis.call is used other than by calling it")
	}
	aliases := aliasesOf(code)
	for _, at := range call.FindAllStringIndex(code, -1) {
		checkCall(arguments(code[at[1]:]), aliases, fault)
	}
	for _, name := range indices(errorReply, code) {
		if name == "" {
			fault("an error whose name is computed")
		} else if !strings.Contains(strings.Join(header["RETURNS"], "\n"), "error "+name+" ") {
			fault("the header does not tell of the error %s", name)
		}
	}
	return faults
}

var (
	comment    = regexp.MustCompile(`--[^\n]*`)
	anyKey     = regexp.MustCompile(`\bKEYS\b`)
	numbered   = regexp.MustCompile(`\bKEYS\[(\d+)\]`)
	oneKey     = regexp.MustCompile(`^KEYS\[\d+\]$`)
	anyCall    = regexp.MustCompile(`\bredis\.p?call\b`)
	call       = regexp.MustCompile(`\bredis\.p?call\(`)
	errorReply = regexp.MustCompile(`\bredis\.error_reply\((?:'(\w+))?`)
	given      = regexp.MustCompile(`(?:(local)\s+)?(\w+(?:\s*,\s*\w+)*)\s*=([^=\n][^\n]*)`)
	parameters = regexp.MustCompile(`\bfunction\b[^(]*\(([^)]*)\)|\bfor\s+([\w\s,]+?)\s+in\b`)
)

// indices are the first group of each match.
func indices(of *regexp.Regexp, code string) (all []string) {
	for _, m := range of.FindAllStringSubmatch(code, -1) {
		all = append(all, m[1])
	}
	return all
}

// names splits a list of names.
func names(list string) []string {
	all := strings.Split(list, ",")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

// aliasesOf finds the names that stand for a key. A name that is given twice is not trusted to.
func aliasesOf(code string) (aliases []string) {
	times := map[string]int{}
	for _, m := range parameters.FindAllStringSubmatch(code, -1) {
		for _, name := range names(m[1] + m[2]) {
			times[name]++
		}
	}
	for _, m := range given.FindAllStringSubmatch(code, -1) {
		values := names(m[3])
		for i, name := range names(m[2]) {
			times[name]++
			if m[1] == "local" && i < len(values) && !slices.ContainsFunc(values[:i+1],
				func(v string) bool { return !oneKey.MatchString(v) }) {
				aliases = append(aliases, name)
			}
		}
	}
	return slices.DeleteFunc(aliases, func(name string) bool { return times[name] != 1 })
}

// arguments are those of a call whose parenthesis has been opened.
func arguments(code string) (all []string) {
	depth, from, quoted := 0, 0, false
	for i, c := range code {
		switch {
		case c == '\'':
			quoted = !quoted
		case quoted:
		case strings.ContainsRune("([{", c):
			depth++
		case c == ',' && depth == 0, c == ')' && depth == 0:
			all, from = append(all, strings.TrimSpace(code[from:i])), i+1
			if c == ')' {
				return all
			}
		case strings.ContainsRune(")]}", c):
			depth--
		}
	}
	return all
}

// checkCall checks that the keys of a command are keys that were given.
func checkCall(args, aliases []string, fault func(string, ...any)) {
	command := strings.Trim(args[0], "'")
	last, known := keyAt[command]
	switch {
	case command == args[0]:
		fault("a command that is computed")
		return
	case !known:
		fault("%s is a command that this test does not know", command)
		return
	case last == 0:
		return
	}
	first := last
	if command == "UNLINK" {
		last = len(args) - 1
	}
	for _, key := range args[first : last+1] {
		if !oneKey.MatchString(key) && !slices.Contains(aliases, key) {
			fault("%s: the key %s is not one of KEYS", command, key)
		}
	}
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
