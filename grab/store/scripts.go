package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"redrain/lua"
)

// scripts are the scripts of package lua as go-redis runs them: EVALSHA, and where a node does not know the script
// (it was restarted, or has taken over), once with the source, which it then keeps.
type scripts struct{ grab, open, close, restore, snapshot, newer, once, allow, mark *redis.Script }

func newScripts() scripts {
	return scripts{
		grab: redis.NewScript(lua.Grab), open: redis.NewScript(lua.Open), close: redis.NewScript(lua.Close),
		restore:  redis.NewScript(lua.Restore),
		snapshot: redis.NewScript(lua.Snapshot), newer: redis.NewScript(lua.Newer), once: redis.NewScript(lua.Once),
		allow: redis.NewScript(lua.Allow),
		mark:  redis.NewScript(lua.Mark),
	}
}

func (s scripts) all() []*redis.Script {
	return []*redis.Script{s.grab, s.open, s.close, s.restore, s.snapshot, s.newer, s.once, s.allow, s.mark}
}

// Load gives every node of Redis the scripts. It is not needed for anything to work: it saves the first taps of a
// rain from carrying the source along.
func (s *Store) Load(ctx context.Context) error { return s.load(ctx) }

func (c *client) load(ctx context.Context) error {
	for _, s := range c.scripts.all() {
		// On a Cluster go-redis sends this to each master and each replica.
		if err := c.checked(s.Load(ctx, c.rdb).Err()); err != nil {
			return fmt.Errorf("loading scripts into redis: %w", err)
		}
	}
	return nil
}

// run calls a script and gives its errors the names of this package.
func (c *client) run(ctx context.Context, s *redis.Script, keys []string, args ...any) *redis.Cmd {
	cmd := s.Run(ctx, c.rdb, keys, args...)
	if err := c.checked(cmd.Err()); err != nil {
		cmd.SetErr(named(err))
	}
	return cmd
}

// names are the errors of the scripts that this package has a name for.
var names = map[string]error{"NOSTATE": ErrNoState, "ALIVE": ErrAlive, "SUPERSEDED": ErrSuperseded,
	"UNSETTLED": ErrUnsettled}

// named wraps those errors.
func named(err error) error {
	word, _, _ := strings.Cut(err.Error(), " ")
	if name := names[word]; name != nil {
		return fmt.Errorf("%w: %w", name, err)
	}
	return err
}
