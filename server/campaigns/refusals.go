package campaigns

import (
	"errors"
	"fmt"
	"sync"

	"redrain/payout/ledger/posting"
)

// refusedMS is the time for which a refused move is not retried and its shard lends nothing, in milliseconds. The
// record stays in Redis until a person has looked at it, and must not keep the mover busy.
const refusedMS = 60_000

// refusedKept is the time after which a refusal without a repetition is dropped, in milliseconds: its record is gone.
const refusedKept = 10 * refusedMS

// errTorn means that no script has written a record of lent stock.
var errTorn = fmt.Errorf("%w: what the shard has of it cannot be read", posting.ErrMoveRefused)

// refusals are the refused moves of a campaign.
type refusals struct {
	mu    sync.Mutex
	moves map[refusedMove]refusal
	until map[int]int64 // by shard, Unix ms: it lends nothing until then
}

// refusedMove identifies a move by its lending shard.
type refusedMove struct {
	from int
	move string
}

// refusal is the state of a refused move.
type refusal struct {
	again   int64 // Unix ms
	alarmed bool
}

// note records a refusal, and reports whether to raise an alarm now. A move that a rebuild has cut off may have been
// read before the rebuild: the alarm comes only if it is still there afterwards.
func (r *refusals) note(from int, move string, cutOff bool, now int64) (tell bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.moves == nil {
		r.moves, r.until = map[refusedMove]refusal{}, map[int]int64{}
	}
	key := refusedMove{from, move}
	was, again := r.moves[key]
	if cutOff && !again {
		r.moves[key] = refusal{again: now + finishEveryMS}
		return false
	}
	r.moves[key] = refusal{again: now + refusedMS, alarmed: true}
	r.until[from] = now + refusedMS
	return !was.alarmed
}

// waits reports whether a move was refused within refusedMS. It drops old refusals.
func (r *refusals) waits(from int, move string, now int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, one := range r.moves {
		if now-one.again > refusedKept {
			delete(r.moves, key)
		}
	}
	one, refused := r.moves[refusedMove{from, move}]
	return refused && now < one.again
}

// lenders returns the shards that lend nothing now, because of refused moves.
func (r *refusals) lenders(now int64) map[int]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	none := map[int]bool{}
	for shard, until := range r.until {
		none[shard] = now < until
	}
	return none
}

// refuse records a refused move, and raises the alarm once. It returns any other error.
func (m *Mover) refuse(campaign string, from int, move string, refusals *refusals, err error) error {
	cutOff := errors.Is(err, posting.ErrCutOff)
	if !cutOff && !errors.Is(err, posting.ErrMoveRefused) {
		return err
	}
	if refusals.note(from, move, cutOff, m.o.Clock()) {
		m.alarm(campaign, from, move, err)
	} else {
		m.o.Log.Warn("a move of stock is void", "campaign", campaign, "shard", from, "move", move, "err", err)
	}
	return nil
}

// alarm raises the alarm about a move that the ledger refuses.
func (m *Mover) alarm(campaign string, shard int, move string, err error) {
	m.refused.Inc()
	m.o.Log.Error("a move of stock is refused, and nothing is moved by it", "campaign", campaign, "shard", shard,
		"move", move, "err", err)
	m.o.Bus.Alarm("move_refused", campaign, fmt.Sprintf("shard %d, move %.64s: %v. Another program has written to "+
		"Redis, or it was rolled back. Nothing is moved by it; the shard lends nothing for a while. See "+
		"docs/use/operate.md, \"A shard's records were altered\"", shard, move, err))
}
