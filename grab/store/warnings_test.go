package store_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"redrain/grab/grabtest"
	"redrain/grab/store"
)

// config answers CONFIG GET, with the settings or an error.
type config struct {
	settings map[string]string
	err      error
}

func (c config) answer(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		if get, ok := cmd.(*redis.MapStringStringCmd); ok && cmd.Name() == "config" {
			get.SetVal(c.settings)
		}
		cmd.SetErr(c.err)
		return c.err
	}
}

func TestWarningsSayWhatMustBe(t *testing.T) {
	for name, c := range map[string]struct {
		config
		want []string // parts of the warnings, in their order
	}{
		"sound": {config{settings: map[string]string{"maxmemory-policy": "noeviction", "appendonly": "yes"}}, nil},
		"evicts": {config{settings: map[string]string{"maxmemory-policy": "allkeys-lru", "appendonly": "yes"}},
			[]string{"maxmemory-policy allkeys-lru; it must be noeviction"}},
		"forgets": {config{settings: map[string]string{"maxmemory-policy": "noeviction", "appendonly": "no"}},
			[]string{"appendonly no; it must be yes"}},
		"silent": {config{err: errors.New("NOPERM")}, []string{
			"not show its appendonly, which must be yes: NOPERM",
			"not show its maxmemory-policy, which must be noeviction: NOPERM",
		}},
	} {
		rdb := grabtest.InProcess(t)
		rdb.AddHook(grabtest.Hook{Command: c.answer})
		got := slices.Sorted(slices.Values(store.New(rdb, store.Options{}).Warnings(t.Context())))
		if !slices.EqualFunc(got, c.want, strings.Contains) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
