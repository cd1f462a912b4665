package lua_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"redrain/docs"
	"redrain/internal/testenv"
	"redrain/lua"
)

func TestScriptsKeepTheRules(t *testing.T) {
	all := lua.Scripts()
	testenv.Equal(t, len(all), 18, "scripts")
	for name, source := range all {
		for _, fault := range check(name+".lua", source) {
			t.Errorf("%s: %s", name, fault)
		}
	}
}

// TestTheRightsHaveEachCommandOfTheScripts: Redis holds a script's commands to the rights of its caller.
func TestTheRightsHaveEachCommandOfTheScripts(t *testing.T) {
	calls := regexp.MustCompile(`redis\.call\('([A-Z]+)'(?:, '([A-Z]+)')?`)
	for name, source := range lua.Scripts() {
		for _, call := range calls.FindAllStringSubmatch(source, -1) {
			command := strings.ToLower(strings.TrimSuffix(call[1]+"|"+call[2], "|"))
			if !slices.Contains(strings.Fields(docs.RightsRedis), "+"+command) {
				t.Errorf("%s calls %s: docs/rights.redis.conf does not permit it", name, command)
			}
		}
	}
}

// The check itself must be able to find each fault.
func TestTheCheckFinds(t *testing.T) {
	const header = `-- x.lua: tests the check.
--
-- KEYS
--   1  rr:{<campaign>.<shard>}:state   hash: something
--   2  rr:{<campaign>.<shard>}:stock   list: something
-- ARGV
--   none
-- RETURNS
--   0  always
--   error NOSTATE  sometimes
-- ATOMICITY
--   One step.

`
	for _, c := range []struct{ name, source, want string }{
		{"a good one", header + `local state = KEYS[1]
redis.call('HSET', state, 'a', 1)
redis.call('UNLINK', state, KEYS[2])
redis.call('TIME')
return redis.error_reply('NOSTATE ' .. 'x')`, ""},
		{"no header", "return redis.call('GET', KEYS[1])", "line 1"},
		{"a section is missing", strings.Replace(header, "-- ATOMICITY\n--   One step.\n", "",
			1) + "return {KEYS[1], KEYS[2]}", "ATOMICITY"},
		{"a section is empty", strings.Replace(header, "--   none\n", "", 1) + "return {KEYS[1], KEYS[2]}", "ARGV"},
		{"two hash tags", strings.Replace(header, ":stock", ":{x}stock", 1) + "return {KEYS[1], KEYS[2]}", "hash tag"},
		{"no hash tag", strings.Replace(header, "rr:{<campaign>.<shard>}:stock", "rr:stock",
			1) + "return {KEYS[1], KEYS[2]}", "hash tag"},
		{"an undeclared key", header + "return {KEYS[1], KEYS[2], KEYS[3]}", "KEYS[3]"},
		{"an unused key", header + "return KEYS[1]", "KEYS[2] is declared"},
		{"a computed index", header + "local i = 1 return {KEYS[1], KEYS[2], KEYS[i]}", "other than by a number"},
		{"all keys at once", header + "return {KEYS[1], KEYS[2], unpack(KEYS)}", "other than by a number"},
		{"a key that is built", header + "return {KEYS[1], KEYS[2], redis.call('GET', KEYS[1] .. 'x')}", "GET"},
		{"a key that is an argument", header + "return {KEYS[1], KEYS[2], redis.call('GET', ARGV[1])}", "GET"},
		{"a name that is no key", header + "local k = 'rr:x' return {KEYS[1], KEYS[2], redis.call('GET', k)}", "GET"},
		{"a name that changes", header + "local k = KEYS[1] k = KEYS[2] return redis.call('GET', k)", "GET"},
		{"a name for two things", header + "local k = KEYS[1] " +
			"local function f(k) return redis.call('GET', k) end return f(KEYS[2])", "GET"},
		{"the second key of a command", header + "return redis.call('UNLINK', KEYS[1], KEYS[2] .. 'x')", "UNLINK"},
		{"in a function", header + "local function f() return redis.pcall('GET', 'x') end return {KEYS[1], KEYS[2], f}",
			"GET"},
		{"an unknown command", header + "return {redis.call('FLUSHALL'), KEYS[1], KEYS[2]}", "FLUSHALL"},
		{"a computed command", header + "return {redis.call(ARGV[1], KEYS[1]), KEYS[2]}", "command"},
		{"another way to call", header + "local call = redis.call return {call('GET', 'x'), KEYS[1], KEYS[2]}",
			"redis.call"},
		{"an undocumented error", header + "return {KEYS[1], KEYS[2], redis.error_reply('OTHER x')}", "OTHER"},
		{"no Lua", header + "local = KEYS[1]", "syntax"},
	} {
		faults := check("x.lua", c.source)
		if c.want == "" {
			testenv.Equal(t, len(faults), 0, "%s: found %q", c.name, faults)
			continue
		}
		if !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, c.want) }) {
			t.Errorf("%s: found %q, want something about %q", c.name, faults, c.want)
		}
	}
}
