package grab

import (
	"slices"

	"redrain/grab/outcome"
	"redrain/rain"
)

const (
	// keptResults is how many results of taps that won nothing are kept of a player; those of the lowest drops go
	// first. At 20 taps a second it is more than a drop is in the air.
	keptResults = 512
	// keptSlack is by how much they may be more: to let go of one at a time would be to move all the others each time.
	keptSlack = 64
)

// player is what is remembered of one player.
type player struct {
	rain   string // the rain that all but the wins is of
	bucket bucket
	lost   lost
	won    []wonDrop // in the order of the tickets
	draws  draws
	newest dropKey // the last one's, beside which nothing has to be read for nearly every tap

	// of taps that the script may have decided, or has without confirmation, and the player was told nothing
	undecided []rain.Ticket
}

// dropKey is a ticket as the cache sorts it: the wave, and in its last byte the drop's place in it, or beatKey. So a
// player's taps, which follow the waves, are remembered nearly in order, at eight bytes each, and a tap is found among
// thousands in a few steps.
type dropKey uint64

// beatKey is the last byte of a beat's key. A wave has at most MaxDropsPerSecond/4 drops.
const beatKey = 0xff

// keyOf is a ticket's key; false for a drop that no rain has, whose results are not kept.
func keyOf(id rain.Ticket) (dropKey, bool) {
	if id.IsBeat() {
		id.K = beatKey
	} else if id.K >= beatKey {
		return 0, false
	}
	if id.K < 0 || id.N>>55 != 0 {
		return 0, false
	}
	return dropKey(id.N)<<8 | dropKey(id.K), true //nolint:gosec // both are checked
}

// wonDrop is a drop, or a beat, that the player has won with.
type wonDrop struct {
	drop    dropKey // of the ticket
	amount  rain.Money
	packet  int32
	settled bool // the player was told that it is in the ledger
}

// lost are the results of taps that won nothing, in the order of the drops; outcomes[i] is that of drops[i].
type lost struct {
	drops    []dropKey
	outcomes []outcome.Outcome
}

// enter makes the player one of a rain. Of another rain only what was won is still good.
func (p *player) enter(rain string) {
	if p.rain != rain {
		*p = player{rain: rain, won: p.won, newest: p.newest, bucket: p.bucket}
	}
}

// settle notes that a win is in the ledger. It tells whether that is news.
func (p *player) settle(id rain.Ticket, r outcome.Result) (news bool) {
	p.remember(id, r)
	drop, ok := keyOf(id)
	if !ok {
		return true
	}
	i, found := p.findWin(drop)
	if !found || p.won[i].settled {
		return !found
	}
	p.won[i].settled = true
	return true
}

// mayTap counts a tap off the player's rate, which is shared among the nodes where the player is; 0 is no limit.
func (p *player) mayTap(now int64, rate, nodes int) bool {
	return rate == 0 || p.bucket.take(now, rate, nodes)
}

// wins is how many packets the player has won in the campaign.
func (p *player) wins() int { return len(p.won) }

// recall finds the result of the player's tap on a drop, which asks for a ticket.
func (p *player) recall(id rain.DropID, ticket rain.Ticket) (outcome.Result, bool) {
	if ticket.IsBeat() && !p.draws.tookWith(ticket, id) {
		return p.lost.recall(id) // another drop has won, or this one cannot: it may be a decoy
	}
	if r, won := p.recallWin(ticket); won {
		return r, true
	}
	return p.lost.recall(id)
}

// recallWin finds what the player has won with a ticket.
func (p *player) recallWin(ticket rain.Ticket) (outcome.Result, bool) {
	key, ok := keyOf(ticket)
	if i, found := p.findWin(key); ok && found {
		return outcome.Result{Outcome: outcome.Won, Packet: int(p.won[i].packet), Amount: p.won[i].amount}, true
	}
	return outcome.Result{}, false
}

func (p *player) findWin(drop dropKey) (int, bool) {
	if n := len(p.won); n == 0 || p.newest < drop { // nearly always
		return n, false
	}
	return slices.BinarySearchFunc(p.won, drop, func(w wonDrop, drop dropKey) int {
		switch {
		case w.drop < drop:
			return -1
		case w.drop > drop:
			return 1
		}
		return 0
	})
}

// remember keeps a result: a win by its ticket, any other by its drop. The first one of a drop stays, except that a win
// replaces any other.
func (p *player) remember(id rain.Ticket, r outcome.Result) {
	drop, ok := keyOf(id)
	if !ok {
		return
	}
	place, won := p.findWin(drop)
	switch {
	case won:
	case r.Outcome == outcome.Won:
		p.lost.forget(drop)
		packet := int32(r.Packet) //nolint:gosec // at most rain.MaxPackets
		p.won = slices.Insert(p.won, place, wonDrop{drop: drop, packet: packet, amount: r.Amount})
		p.newest = max(p.newest, drop)
	default:
		p.lost.add(drop, r.Outcome)
	}
}

// recall finds the result of a tap that won nothing.
func (l *lost) recall(id rain.DropID) (outcome.Result, bool) {
	if drop, ok := keyOf(id.Ticket()); ok {
		if i, found := slices.BinarySearch(l.drops, drop); found {
			return outcome.Result{Outcome: l.outcomes[i]}, true
		}
	}
	return outcome.Result{}, false
}

func (l *lost) add(drop dropKey, o outcome.Outcome) {
	if len(l.drops) == keptResults+keptSlack {
		l.drops = slices.Delete(l.drops, 0, keptSlack)
		l.outcomes = slices.Delete(l.outcomes, 0, keptSlack)
	}
	place, known := slices.BinarySearch(l.drops, drop)
	if known {
		return
	}
	l.drops = slices.Insert(l.drops, place, drop)
	l.outcomes = slices.Insert(l.outcomes, place, o)
}

func (l *lost) forget(drop dropKey) {
	if i, known := slices.BinarySearch(l.drops, drop); known {
		l.drops = slices.Delete(l.drops, i, i+1)
		l.outcomes = slices.Delete(l.outcomes, i, i+1)
	}
}

// decided takes in what came of the player's tap on a drop, which asked for a ticket. sent says whether the script may
// have seen the tap: one that was given up unsent leaves an earlier one of the same ticket as undecided as it was.
func (p *player) decided(drop rain.DropID, ticket rain.Ticket, r outcome.Result, sent bool) {
	if r.Outcome == outcome.Unavailable {
		p.draws.giveBack(ticket)
		if sent {
			p.unsure(ticket)
		}
		return
	}
	if known := slices.Index(p.undecided, ticket); known >= 0 {
		p.undecided = slices.Delete(p.undecided, known, known+1)
	}
	switch r.Outcome {
	case outcome.Won:
		p.remember(ticket, r)
	case outcome.Already, outcome.Limited, outcome.Empty, outcome.SoldOut:
		p.remember(drop.Ticket(), r)
	default: // NotOpen may be another the next moment
		p.draws.giveBack(ticket)
	}
}

// unsure notes that the script may have decided on a ticket, and the player was told nothing.
func (p *player) unsure(ticket rain.Ticket) {
	if len(p.undecided) < keptResults && !slices.Contains(p.undecided, ticket) {
		p.undecided = append(p.undecided, ticket)
	}
}
