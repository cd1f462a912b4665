package gateway

import (
	"sync"
	"time"

	"redrain/grab"
	"redrain/grab/outcome"
	"redrain/internal/wire"
	"redrain/rain"
	"redrain/room"
	"redrain/server/live"
	"redrain/server/risk"
)

// Gate takes the taps on one campaign. [grab.Gate] does.
type Gate interface {
	// Tap answers at once where the answer is known; else Results.Answer is told later.
	Tap(t *grab.Tap[Asked]) (r outcome.Result, known bool)
	// Remember lets the gate know wins of a player that other nodes have given; RememberUnsure wins that the player may
	// not be told yet.
	Remember(user string, wins []rain.Win)
	RememberUnsure(user string, wins []rain.Win)
	// Settled lets the gate know a win that is in the ledger, and tells whether that is news.
	Settled(user string, win rain.Win) (news bool)
	// Forget lets the gate forget a player who is not on this node any more.
	Forget(user string)
}

// seat is a player's place in a campaign's room. It does not change; who moves gets another.
type seat struct {
	campaign string
	gate     Gate
	count    *live.CampaignCount
	metrics  *metrics
	ranks    *rain.Ranks // of the campaign's amounts
	allowed  grab.Quota  // what the player may win together with others; nil: as the campaign says
}

// counted counts a tap that was answered.
func (s *seat) counted(o outcome.Outcome, took time.Duration) {
	s.count.Tap(o, took)
	s.metrics.tap(o, took)
}

// Asked is what is needed to tell the result of a player's tap. It is kept in the tap, not beside it: one allocation
// for each tap.
type Asked struct {
	member *room.Member
	seat   *seat
	hand   *risk.Hand // nil: nobody looks at it
	began  time.Time
	id     [wire.MaxID]byte
	idLen  int
}

// answered counts the tap.
func (a *Asked) answered(o outcome.Outcome, took time.Duration) {
	if o == outcome.Won {
		a.hand.Won()
	}
	a.seat.counted(o, took)
}

// result writes the tap's result.
func (a *Asked) result(b []byte, drop rain.DropID, r outcome.Result) []byte {
	m := wire.TapResult{
		ID: a.id[:a.idLen], Drop: drop, Outcome: r.Outcome.String(), Campaign: a.seat.campaign, Packet: r.Packet,
		Amount: r.Amount,
	}
	if r.Outcome == outcome.Won {
		m.Luck = a.seat.ranks.Luck(r.Amount)
	}
	return m.Append(b)
}

const (
	// usualResult is what most results fit into, in bytes.
	usualResult = 160
	// slab is how much room the results of a batch are written into at a time. More would be less work; but who
	// does not read what they are sent holds all of it for one result.
	slab = 4 << 10
)

// Results hands the results of taps to those who tapped.
type Results struct{ Lobby *room.Lobby }

// Answer is a grab.Answer: it takes all results of a batch.
func (r Results) Answer(taps []*grab.Tap[Asked]) {
	out := bundles.Get().(*room.Bundle) //nolint:forcetypeassert // New makes nothing else
	defer bundles.Put(out)
	var text []byte
	now := time.Now()
	for i, t := range taps {
		if cap(text)-len(text) < usualResult {
			text = make([]byte, 0, min(slab, (len(taps)-i)*usualResult))
		}
		a, from := &t.Caller, len(text)
		text = a.result(text, t.Drop, t.Result())
		out.Add(a.member, text[from:len(text):len(text)])
		a.answered(t.Result().Outcome, now.Sub(a.began))
	}
	r.Lobby.Deliver(out)
}

// bundles are what batches go out in.
var bundles = sync.Pool{New: func() any { return &room.Bundle{} }}
