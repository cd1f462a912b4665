package store_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
)

// playing is a game and its model.
type playing struct {
	t       *testing.T
	rt      *rapid.T
	gm      *grabtest.Game
	m       *model
	scripts []*grabtest.Script
	epoch   int64
	users   [][]string
}

func (p *playing) must(err error) {
	testenv.Must(p.rt, err)
}

// restore restores a shard in Redis from the model. If Redis was rolled back, its ids begin low.
func (p *playing) restore(shard int, back bool) {
	s := p.m.shards[shard]
	p.gm.LoseShard(shard)
	p.epoch += 1_000_000
	r := store.Restoration{Barrier: fmt.Sprintf("%d-3", p.gm.Options.Clock()+p.epoch), Epoch: p.epoch,
		Closed:   p.m.closed,
		Borrowed: s.borrowed}
	if back {
		r.Barrier, r.Epoch = "1-1", 0
	}
	p.m.lose(shard, r.Epoch)
	if !p.m.closed {
		for _, packet := range s.stock {
			r.Stock = r.Stock.Add(packet)
		}
	}
	r.Moves = s.moves
	r.Wins = func(put func(rain.Win, rain.EntryRef) error) error {
		for i, k := range s.order {
			if err := put(k.Win, rain.EntryRef{ID: strconv.Itoa(i+1) + "-0"}); err != nil {
				return err
			}
		}
		return nil
	}
	p.must(p.gm.G.Restore(p.t.Context(), p.gm.C, shard, r))
	p.gm.Apply()
}

// decide has a batch decided and compares.
func (p *playing) decide(shard int, taps [][2]string) {
	if len(taps) == 0 {
		return
	}
	p.m.begin(shard)
	var batch []*grabtest.Tap
	var want []outcome.Result
	for _, tap := range taps {
		r := p.m.tap(shard, tap[0], tap[1])
		if r.Outcome == outcome.Won {
			r.Amount = p.gm.Amounts.Of(r.Packet)
		}
		batch, want = append(batch, grabtest.TapOf(p.t, tap[0], tap[1])), append(want, r)
	}
	script := p.scripts[shard]
	p.must(script.Call(p.t.Context(), batch))
	left := len(p.m.shards[shard].stock)
	if p.m.closed {
		left = 0
	}
	if a := script.Answer; !slices.Equal(a.Results, want) || int(a.Left) != left {
		p.rt.Fatalf("the script says\n%v, %d left\nand the model\n%v, %d left", a.Results, a.Left, want, left)
	}
}

func (p *playing) anyShard() int { return rapid.IntRange(0, len(p.m.shards)-1).Draw(p.rt, "shard") }

func (p *playing) anyDrop() string {
	return rapid.SampledFrom([]string{"0.0", "1.0", "0.1", "10.0", "1.1", "0.10"}).Draw(p.rt, "drop")
}

// anyMove is a move that can go on, or nil.
func (p *playing) anyMove(can func(*modelMove) bool) *modelMove {
	var all []*modelMove
	for _, move := range p.m.moves {
		if can(move) {
			all = append(all, move)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return rapid.SampledFrom(all).Draw(p.rt, "move")
}

func (p *playing) actions() map[string]func(*rapid.T) {
	with := func(do func()) func(*rapid.T) {
		return func(rt *rapid.T) { p.rt = rt; do() }
	}
	return map[string]func(*rapid.T){
		"taps": with(func() {
			shard := p.anyShard()
			var taps [][2]string
			for _, user := range rapid.Permutation(p.users[shard]).Draw(p.rt, "users") {
				if rapid.Bool().Draw(p.rt, "taps") {
					taps = append(taps, [2]string{user, p.anyDrop()})
				}
			}
			p.decide(shard, taps)
		}),
		"a hungry player": with(func() {
			shard := p.anyShard()
			user, wave := rapid.SampledFrom(p.users[shard]).Draw(p.rt, "user"), rapid.IntRange(0, 40).Draw(p.rt, "wave")
			for i := range rapid.IntRange(3, 12).Draw(p.rt, "taps") {
				p.decide(shard, [][2]string{{user, fmt.Sprintf("%d.%d", wave+i/2, i%3)}})
			}
		}),
		"what was won before": with(func() {
			shard := p.anyShard()
			var taps [][2]string
			for user, won := range p.m.shards[shard].won {
				if len(won) > 0 {
					taps = append(taps, [2]string{user, slices.Max(slices.Collect(maps.Keys(won)))})
				}
			}
			p.decide(shard, taps)
		}),
		"another node": with(func() { shard := p.anyShard(); p.scripts[shard] = grabtest.ScriptOf(p.gm, shard) }),
		"pause or resume": with(func() {
			if p.m.closed {
				return
			}
			p.m.open = !p.m.open
			p.gm.C.Status = map[bool]rain.Status{true: rain.Open, false: rain.Paused}[p.m.open]
			p.gm.Apply()
		}),
		"lend": with(func() {
			from, to := p.anyShard(), p.anyShard()
			if from == to {
				return
			}
			id, count := fmt.Sprint("m ", len(p.m.moves)), rapid.SampledFrom([]int{0, 1, 2, 7, 1_000}).Draw(p.rt,
				"count")
			lent, err := p.gm.G.Lend(p.t.Context(), p.gm.C.ID, from, to, id, count)
			p.must(err)
			want := p.m.lend(from, count)
			if lent == nil {
				if len(want) > 0 {
					p.rt.Fatalf("nothing was lent, by the model %v", want)
				}
				return
			}
			got := slices.Sorted(lent.Numbers.Each())
			if slices.Sort(want); !slices.Equal(got, want) || lent.Number != p.m.shards[from].moves || lent.To != to {
				p.rt.Fatalf("lent %+v, by the model %v, the %d. move", lent, want, p.m.shards[from].moves)
			}
			p.m.shards[from].lent[id] = lent.Numbers.String()
			p.m.moves = append(p.m.moves, &modelMove{lent: *lent, from: from})
		}),
		"lend again": with(func() {
			if move := p.anyMove(func(move *modelMove) bool {
				return !move.done && !move.void &&
					p.m.shards[move.from].lent[move.lent.Move] != ""
			}); move != nil {
				again, err := p.gm.G.Lend(p.t.Context(), p.gm.C.ID, move.from, move.lent.To, move.lent.Move, 3)
				p.must(err)
				if fmt.Sprint(*again) != fmt.Sprint(move.lent) {
					p.rt.Fatalf("lent %+v, and asked again %+v", move.lent, again)
				}
			}
		}),
		"write": with(func() {
			if move := p.anyMove(func(move *modelMove) bool { return !move.void }); move != nil {
				move.written = true
			}
		}),
		"borrow": with(func() {
			if move := p.anyMove(func(move *modelMove) bool { return move.written }); move != nil {
				p.m.borrow(move)
				_, err := p.gm.G.Borrow(p.t.Context(), p.gm.C.ID, move.lent)
				p.must(err)
				move.borrowed = true
			}
		}),
		"done": with(func() {
			if move := p.anyMove(func(move *modelMove) bool { return move.borrowed }); move != nil {
				p.must(p.gm.G.Moves.Done(p.t.Context(), p.gm.C.ID, move.from, move.lent.Move))
				delete(p.m.shards[move.from].lent, move.lent.Move)
				move.done = true
			}
		}),
		"lose a shard and restore it": with(func() { p.restore(p.anyShard(), false) }),
		"go back": with(func() {
			shard := p.anyShard()
			p.restore(shard, true)
			heard := p.scripts[shard].Heard
			err := p.scripts[shard].Call(p.t.Context(), []*grabtest.Tap{grabtest.TapOf(p.t, p.users[shard][0], "0.0")})
			if behind := heard != "0-0"; behind != errors.Is(err, store.ErrBehind) {
				p.rt.Fatalf("after %s a Redis that knows of 1-1 says %v", heard, err)
			}
			// Either way it is restored correctly before the next tap.
			p.restore(shard, false)
		}),
		"close": with(func() {
			if rapid.IntRange(0, 9).Draw(p.rt, "luck") == 0 {
				p.m.closed = true
				p.must(p.gm.G.CloseCampaign(p.t.Context(), p.gm.C))
			}
		}),
		"": with(p.compare),
	}
}

// compare holds Redis to the model.
func (p *playing) compare() {
	shards, err := p.gm.G.Snapshot(p.t.Context(), p.gm.C)
	p.must(err)
	levels, err := p.gm.G.Shards(p.t.Context(), p.gm.C)
	p.must(err)
	for i, got := range shards {
		s := p.m.shards[i]
		stock := s.stock
		if p.m.closed {
			stock = nil
		}
		if !slices.Equal(slices.Collect(got.Stock.Each()), stock) || got.Moves != s.moves || got.Won != len(s.order) ||
			levels[i].Left != len(stock) || levels[i].Won != got.Won || !levels[i].Known {
			p.rt.Fatalf("shard %d is %+v, %+v; by the model %d left of %v, %d won, %d moves", i, got, levels[i],
				len(stock),
				stock, len(s.order), s.moves)
		}
		lent := map[string]string{}
		for _, l := range got.Lent {
			lent[l.Move] = l.Numbers.String()
		}
		if !maps.Equal(lent, s.lent) {
			p.rt.Fatalf("shard %d has lent %v, by the model %v", i, lent, s.lent)
		}
		var won []rain.Win
		for _, e := range got.Entries {
			for _, w := range e.Wins {
				if !grabtest.Ring.CheckTap(w.Seal, p.gm.C.ID, w.User, w.Drop, e.SealedAt) {
					p.rt.Fatalf("a wrong seal: %+v", w)
				}
				won = append(won, rain.Win{User: w.User, Packet: w.Packet, Drop: w.Drop})
			}
		}
		var want []rain.Win
		for _, k := range s.order[s.gone:] {
			want = append(want, k.Win)
		}
		if !slices.Equal(won, want) {
			p.rt.Fatalf("the outbox of shard %d has %v, by the model %v", i, won, want)
		}
		p.comparePlayers(i)
	}
}

func (p *playing) comparePlayers(shard int) {
	s := p.m.shards[shard]
	for user, wins := range s.won {
		got, err := p.gm.Held(user)
		if err != nil || len(got) != len(wins) {
			p.rt.Fatalf("%s has won %v (%v), by the model %v", user, got, err, wins)
		}
		at := 0
		for _, k := range s.order {
			if k.Win.User != user {
				continue
			}
			if w := got[at]; w.Packet != k.Win.Packet || w.Drop != k.Win.Drop || w.Amount != p.gm.Amounts.Of(w.Packet) {
				p.rt.Fatalf("win %d of %s is %+v, by the model %+v", at, user, w, k.Win)
			}
			at++
		}
	}
	if got := p.gm.Known(shard); len(got) != len(s.order) {
		p.rt.Fatalf("%d wins of all players of shard %d, by the model %d", len(got), shard, len(s.order))
	}
}
