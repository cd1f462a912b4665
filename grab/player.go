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
	lost   byDrop[outcome.Outcome] // results of losing taps
	won    []wonDrop               // in the order of the tickets
	draws  draws
	newest ticketKey // the key of the last win; nearly every tap is compared with it only

	// tickets that the script may have decided, or has decided without confirmation, and whose result the player does
	// not have
	undecided []rain.Ticket
}

// ticketKey is a ticket in the order of the cache: the wave, and in its last byte the drop's position in it, or
// beatKey. A player's taps follow the waves, so they come nearly in order.
type ticketKey uint64

// beatKey is the last byte of a beat's key. A wave has at most MaxDropsPerSecond/4 drops.
const beatKey = 0xff

// keyOf returns a ticket's key. It returns false for a drop that no rain has; the results of such drops are not kept.
func keyOf(id rain.Ticket) (ticketKey, bool) {
	if id.IsBeat() {
		id.K = beatKey
	} else if id.K >= beatKey {
		return 0, false
	}
	if id.K < 0 || id.N>>55 != 0 {
		return 0, false
	}
	return ticketKey(id.N)<<8 | ticketKey(id.K), true //nolint:gosec // both are checked
}

// wonDrop is a drop, or a beat, that the player has won with.
type wonDrop struct {
	drop    ticketKey // of the ticket
	amount  rain.Money
	packet  int32
	settled bool // the player was notified that it is in the ledger
}

// byDrop holds a value for each of some drops or beats, in their order.
type byDrop[V any] struct {
	drops  []ticketKey
	values []V // values[i] is that of drops[i]
}

func (l *byDrop[V]) get(drop ticketKey) (v V, ok bool) {
	if i, known := slices.BinarySearch(l.drops, drop); known {
		return l.values[i], true
	}
	return v, false
}

// add adds a value, unless the drop has one. If there are too many, the lowest drops, which landed long ago, go first.
func (l *byDrop[V]) add(drop ticketKey, v V) {
	if len(l.drops) == keptResults+keptSlack {
		l.drops = slices.Delete(l.drops, 0, keptSlack)
		l.values = slices.Delete(l.values, 0, keptSlack)
	}
	if i, known := slices.BinarySearch(l.drops, drop); !known {
		l.drops = slices.Insert(l.drops, i, drop)
		l.values = slices.Insert(l.values, i, v)
	}
}

func (l *byDrop[V]) forget(drop ticketKey) {
	if i, known := slices.BinarySearch(l.drops, drop); known {
		l.drops = slices.Delete(l.drops, i, i+1)
		l.values = slices.Delete(l.values, i, i+1)
	}
}

// startRain clears the player's state of an older rain, except wins and bucket.
func (p *player) startRain(rain string) {
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

// recall finds the result of the player's tap on a drop with a ticket.
func (p *player) recall(id rain.DropID, ticket rain.Ticket) (outcome.Result, bool) {
	if !ticket.IsBeat() || p.draws.tookWith(ticket, id) {
		// A win of the beat answers only the drop that took the draw. Another drop may be a decoy.
		if r, won := p.recallWin(ticket); won {
			return r, true
		}
	}
	if drop, ok := keyOf(id.Ticket()); ok {
		if o, known := p.lost.get(drop); known {
			return outcome.Result{Outcome: o}, true
		}
	}
	return outcome.Result{}, false
}

// recallWin finds the player's win with a ticket.
func (p *player) recallWin(ticket rain.Ticket) (outcome.Result, bool) {
	key, ok := keyOf(ticket)
	if i, found := p.findWin(key); ok && found {
		return outcome.Result{Outcome: outcome.Won, Packet: int(p.won[i].packet), Amount: p.won[i].amount}, true
	}
	return outcome.Result{}, false
}

func (p *player) findWin(drop ticketKey) (int, bool) {
	if n := len(p.won); n == 0 || p.newest < drop { // nearly always
		return n, false
	}
	return slices.BinarySearchFunc(p.won, drop, func(w wonDrop, k ticketKey) int { return cmp.Compare(w.drop, k) })
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

// decided records the result of the player's tap on a drop with a ticket. sent says whether the script may have seen
// the tap. If the tap was not sent, an earlier tap with the same ticket stays undecided.
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

// bucket is a token bucket for a player's taps. It holds the taps of one second. It runs on the cluster's time. A
// player on several nodes has a bucket on each, with a part of the rate.
type bucket struct {
	tokens float64
	at     int64 // time of the count; 0: never, and the bucket is full
}

// bucketFillsIn is the time in which an empty bucket fills, in milliseconds, or somewhat longer at a rate below one.
const bucketFillsIn = 1000

// take takes one token if there is one. The rate is tokens per second and in one burst, shared among nodes; a burst
// is at least one tap.
func (b *bucket) take(now int64, rate, nodes int) bool {
	perSecond := float64(rate) / float64(max(nodes, 1))
	full := max(perSecond, 1)
	if b.at == 0 {
		b.tokens = full
	} else { // if the clock goes back, the bucket only stops filling until the clock has caught up
		b.tokens = min(full, b.tokens+float64(max(now-b.at, 0))*perSecond/1000)
	}
	b.at = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// draws holds the lucky draws of a player in a rain: the beat, and the drop that took the draw. An unlucky draw is not
// stored, because it can be computed again.
type draws struct{ byDrop[ticketKey] }

// take records that a drop takes a draw. Any other ticket changes nothing.
func (d *draws) take(ticket rain.Ticket, with rain.DropID) {
	beat, ok1 := keyOf(ticket)
	drop, ok2 := keyOf(with.Ticket())
	if ticket.IsBeat() && ok1 && ok2 {
		d.add(beat, drop)
	}
}

// release lets a draw be taken again, because it had no result.
func (d *draws) release(ticket rain.Ticket) {
	if beat, ok := keyOf(ticket); ok {
		d.forget(beat)
	}
}

// tookWith reports whether a draw was taken with a drop.
func (d *draws) tookWith(ticket rain.Ticket, with rain.DropID) bool {
	drop, taken := d.of(ticket)
	want, ok := keyOf(with.Ticket())
	return taken && ok && drop == want
}

// tookAnother reports whether a draw was taken with a drop, and not with this one.
func (d *draws) tookAnother(ticket rain.Ticket, with rain.DropID) bool {
	_, taken := d.of(ticket)
	return taken && !d.tookWith(ticket, with)
}

func (d *draws) of(ticket rain.Ticket) (with ticketKey, taken bool) {
	beat, ok := keyOf(ticket)
	with, taken = d.get(beat)
	return with, taken && ok
}
