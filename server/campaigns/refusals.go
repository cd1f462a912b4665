package campaigns

import (
	"errors"
	"fmt"
	"sync"

	"redrain/payout/ledger/posting"
)

// refusedMS is how long a move that was refused is not tried again, and how long its shard lends nothing, in
// milliseconds. The record stays in Redis until a person has looked at it, and must not keep the mover busy.
const refusedMS = 60_000

// refusedKept is how long a refusal is remembered that has not been met again, in milliseconds: its record is gone.
const refusedKept = 10 * refusedMS

// errTorn is a record of lent stock that no script has written.
var errTorn = fmt.Errorf("%w: what the shard has of it cannot be read", posting.ErrMoveRefused)

// refusals are the moves of a campaign that cannot be.
type refusals struct {
	mu    sync.Mutex
	moves map[refusedMove]refusal
	until map[int]int64 // by shard, Unix ms: until then it lends nothing
}

// refusedMove is a move as its shard has it.
type refusedMove struct {
	from int
	move string
}

// refusal is what was said of a move, and when it is tried again.
type refusal struct {
	again   int64 // Unix ms
	alarmed bool
}

// note remembers that a move was refused, and tells whether a person should be told now. One that was cut off by a
// rebuild may have been read before it: that is said when it is still there afterwards.
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

// waits tells whether a move was refused just now. What was refused long ago, and is gone since, is forgotten.
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

// lenders are the shards that lend nothing now, because what they have lent was refused.
func (r *refusals) lenders(now int64) map[int]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	none := map[int]bool{}
	for shard, until := range r.until {
		none[shard] = now < until
	}
	return none
}

// refuse takes note of a move that cannot be, and tells a person once. Any other error it returns.
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

// alarm tells a person of a move that the ledger does not bear out.
func (m *Mover) alarm(campaign string, shard int, move string, err error) {
	m.refused.Inc()
	m.o.Log.Error("a move of stock is refused, and nothing is moved by it", "campaign", campaign, "shard", shard,
		"move", move, "err", err)
	m.o.Bus.Alarm("move_refused", campaign, fmt.Sprintf("shard %d, move %.64s: %v. Somebody has written to Redis, or "+
		"it has gone back in time. Nothing is moved by it; the shard lends nothing for a while. What to do: "+
		"docs/use/operate.md, \"A shard's records were altered\"", shard, move, err))
}
