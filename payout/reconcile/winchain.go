package reconcile

import (
	"context"
	"hash/maphash"

	"redrain/rain"
)

// winChain compares, for all players of a shard at once, how many wins Redis has counted for them with how many it has
// recorded, and what it says is the newest win, and the one before that, and so on, with the wins that there are. It
// takes no memory for a player: both sides add up, in any order, numbers that are drawn for each player and each of
// their wins. A difference is then looked for one by one.
type winChain struct {
	seed             maphash.Seed
	counted, wins    uint64 // by player: what is counted, what there is
	followed, ticket uint64 // by win: what is said to be there, what there is
}

func newWinChain() winChain { return winChain{seed: maphash.MakeSeed()} }

func (c *winChain) fits() bool { return c.counted == c.wins && c.followed == c.ticket }

func (c *winChain) player(user string) uint64 { return maphash.String(c.seed, user) }

func (c *winChain) drop(user, drop string) uint64 { return maphash.String(c.seed, user+"\n"+drop) }

// win adds a win that there is.
func (c *winChain) win(w *rain.WinRecord) {
	c.wins += c.player(w.User)
	c.ticket += c.drop(w.User, w.Drop)
	if w.Before != "" {
		c.followed += c.drop(w.User, w.Before)
	}
}

// of adds what is counted for a player as of the snapshot.
func (c *winChain) of(p rain.PlayerRecord) {
	if p.Wins > 0 {
		c.counted += uint64(p.Wins) * c.player(p.User)
		c.followed += c.drop(p.User, p.Newest)
	}
}

// players checks what Redis has of some players.
func (s *recordCheck) players(ctx context.Context, page []rain.PlayerRecord) error {
	for _, p := range page {
		if p.Wins > s.campaign.WinsPerUser {
			s.found.add("a player with too many wins", p.User, "shard %d: Redis says that player %s has won %d "+
				"packets, but "+
				"they may "+
				"win %d", s.b.snapshot.Shard, p.User, p.Wins, s.campaign.WinsPerUser)
		}
	}
	for len(page) > 0 { // back to the snapshot, one win of each at a time
		wins := make([]rain.Win, len(page))
		for i, p := range page {
			wins[i] = rain.Win{User: p.User, Drop: p.Newest}
		}
		records, err := s.look.hot.WinsOf(ctx, s.campaign, s.b.snapshot.Shard, wins)
		if err != nil {
			return err
		}
		var late []rain.PlayerRecord
		for i, p := range page {
			ms, seq, err := rain.EntryRef{ID: records[i].Entry}.Position()
			if records[i].User == "" || err != nil || !s.b.later(ms, seq) {
				s.chain.of(p)
				continue
			}
			if p.Wins, p.Newest = p.Wins-1, records[i].Before; p.Newest != "" && p.Wins > 0 {
				late = append(late, p)
			} else if p.Wins != 0 || p.Newest != "" {
				s.chain.counted++ // does not fit, and is looked at
			}
		}
		page = late
	}
	return nil
}

// checkChains looks at the records of each player by themselves.
func (s *recordCheck) checkChains(ctx context.Context) error {
	n := s.b.snapshot.Shard
	return s.look.hot.EachRecord(ctx, s.campaign, n, func(page rain.Records) error {
		drops := map[string]map[string]bool{} // of the page, by player
		note := func(user string) map[string]bool {
			if drops[user] == nil {
				drops[user] = map[string]bool{}
			}
			return drops[user]
		}
		for _, p := range page.Players {
			note(p.User)
		}
		for _, w := range page.Wins {
			note(w.User)[w.Drop] = true
		}
		players, err := s.look.hot.Players(ctx, s.campaign, n, sortedKeys(drops))
		if err != nil {
			return err
		}
		for i, user := range sortedKeys(drops) {
			if err := s.checkChain(ctx, user, players[i], drops[user]); err != nil {
				return err
			}
		}
		return nil
	})
}

// chainAtOnce is how many wins of a player are held in memory.
const chainAtOnce = 100_000

// checkChain goes from a player's newest win to the first. drops are wins of the player that must be on the way.
func (s *recordCheck) checkChain(ctx context.Context, user string, p rain.PlayerRecord, drops map[string]bool) error {
	n, count, broken := s.b.snapshot.Shard, 0, ""
	for drop := p.Newest; drop != "" && count <= min(p.Wins, chainAtOnce); {
		records, err := s.look.hot.WinsOf(ctx, s.campaign, n, []rain.Win{{User: user, Drop: drop}})
		if err != nil {
			return err
		}
		if records[0].User == "" {
			broken = drop
			break
		}
		count++
		delete(drops, drop)
		drop = records[0].Before
	}
	switch {
	case broken != "":
		s.found.add("a win that is missing", user+broken, "shard %d: Redis says that player %s has won with drop "+
			"%s, but "+
			"has no such "+
			"win", n, user, broken)
	case count != p.Wins:
		s.found.add("a count of wins that is wrong", user, "shard %d: Redis says that player %s has won %d packets, "+
			"but "+
			"knows %d "+
			"wins one after the other", n, user, p.Wins, count)
	case len(drops) > 0:
		s.found.add("a win that its player has not", user+sortedKeys(drops)[0], "shard %d: Redis has a win of "+
			"player %s "+
			"with drop %s, "+
			"which is none of the %d that it has counted for them", n, user, sortedKeys(drops)[0], p.Wins)
	}
	return nil
}
