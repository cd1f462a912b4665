package store

import (
	"github.com/redis/go-redis/v9"

	"redrain/lua"
)

// scripts are the scripts of package lua as go-redis runs them: EVALSHA. If a node does not have the script (it was
// restarted, or has taken over), one call carries the source, which the node keeps.
type scripts struct {
	grab, open, close, lend, borrow, lose, restore, snapshot, wins, newer, allow, admit, seats,
	allot, sit, mark *redis.Script
}

func newScripts() scripts {
	return scripts{
		grab: redis.NewScript(lua.Grab), open: redis.NewScript(lua.Open), close: redis.NewScript(lua.Close),
		lend: redis.NewScript(lua.Lend), borrow: redis.NewScript(lua.Borrow), lose: redis.NewScript(lua.Lose),
		restore: redis.NewScript(lua.Restore), wins: redis.NewScript(lua.Wins),
		snapshot: redis.NewScript(lua.Snapshot), newer: redis.NewScript(lua.Newer),
		allow: redis.NewScript(lua.Allow), admit: redis.NewScript(lua.Admit), seats: redis.NewScript(lua.Seats),
		allot: redis.NewScript(lua.Allot), sit: redis.NewScript(lua.Sit), mark: redis.NewScript(lua.Mark),
	}
}

func (s scripts) all() []*redis.Script {
	return []*redis.Script{s.grab, s.open, s.close, s.lend, s.borrow, s.lose, s.restore, s.snapshot, s.wins, s.newer,
		s.allow, s.admit, s.seats, s.allot, s.sit, s.mark}
}
