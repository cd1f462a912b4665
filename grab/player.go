package grab

import (
	"cmp"
	"slices"

	"redrain/grab/outcome"
	"redrain/rain"
)

const (
	// keptResults is the number of losing results that are kept of a player; those of the lowest drops go first. At
	// 20 taps a second it covers more than the time for which a drop is in the air.
	keptResults = 512
	// keptSlack is the number by which they may exceed it: removing one at a time would move all the others each
	// time.
	keptSlack = 64
)

// player is the cached state of one player.
type player struct {
	rain   string // the rain of all fields except the wins
	bucket bucket
	lost   lost
	won    []wonDrop // in the order of the tickets
	draws  draws
	newest dropKey // the key of the last win; nearly every tap is compared with it only

	// tickets that the script may have decided, or has decided without confirmation, and whose result the player does
	// not have
	undecided []rain.Ticket
}

// dropKey is a ticket in the order of the cache: the wave, and in its last byte the drop's position in it, or
// beatKey. A player's taps follow the waves, so they are stored nearly in order, at eight bytes each. A search among
// thousands takes a few steps.
type dropKey uint64

// beatKey is the last byte of a beat's key. A wave has at most MaxDropsPerSecond/4 drops.
const beatKey = 0xff

// keyOf returns a ticket's key. It returns false for a drop that no rain has; the results of such drops are not kept.
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
	settled bool // the player was notified that it is in the ledger
}

// lost holds the results of losing taps, in the order of the drops; outcomes[i] is that of drops[i].
type lost struct {
	drops    []dropKey
	outcomes []outcome.Outcome
}

// enter moves the player to a rain. Of another rain only the wins are kept.
func (p *player) enter(rain string) {
	if p.rain != rain {
		*p = player{rain: rain, won: p.won, newest: p.newest, bucket: p.bucket}
	}
}

// settle marks a win as in the ledger. It reports whether that is news.
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

// mayTap takes a tap from the player's rate, which is shared among the player's nodes; 0 is no limit.
func (p *player) mayTap(now int64, rate, nodes int) bool {
	return rate == 0 || p.bucket.take(now, rate, nodes)
}

// wins returns the number of packets that the player has won in the campaign.
func (p *player) wins() int { return len(p.won) }

// recall finds the result of the player's tap on a drop with a ticket.
func (p *player) recall(id rain.DropID, ticket rain.Ticket) (outcome.Result, bool) {
	if ticket.IsBeat() && !p.draws.tookWith(ticket, id) {
		return p.lost.recall(id) // another drop has won, or this one cannot: it may be a decoy
	}
	if r, won := p.recallWin(ticket); won {
		return r, true
	}
	return p.lost.recall(id)
}

// recallWin finds the player's win with a ticket.
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
	return slices.BinarySearchFunc(p.won, drop, func(w wonDrop, drop dropKey) int { return cmp.Compare(w.drop, drop) })
}

// remember keeps a result: a win by its ticket, any other by its drop. The first result of a drop stays, except that
// a win replaces any other.
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

// recall finds the result of a losing tap.
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

// decided records the result of the player's tap on a drop with a ticket. sent says whether the script may have seen
// the tap. An unsent tap leaves an earlier one of the same ticket undecided.
func (p *player) decided(drop rain.DropID, ticket rain.Ticket, r outcome.Result, sent bool) {
	if r.Outcome == outcome.Unavailable {
		p.draws.release(ticket)
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
	default: // NotOpen may change at any moment
		p.draws.release(ticket)
	}
}

// unsure records that the script may have decided on a ticket, and that the player does not have the result.
func (p *player) unsure(ticket rain.Ticket) {
	if len(p.undecided) < keptResults && !slices.Contains(p.undecided, ticket) {
		p.undecided = append(p.undecided, ticket)
	}
}
