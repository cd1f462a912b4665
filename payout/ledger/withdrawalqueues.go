package ledger

// queue is a part of the withdrawals that are due, of which the index has the order: those in a state, without or with
// a date that is farther ahead than any try is put off.
type queue struct {
	state WithdrawalState
	far   bool
}

// spot is a place in the order of a queue: behind a withdrawal. The zero value is before the first.
type spot struct {
	begun  bool
	nextAt int64
	id     string
}

func spotOf(w Withdrawal) spot { return spot{true, w.NextAt, w.ID} }

// condition is a part of a WHERE.
type condition struct {
	where string
	args  []any
}

// behind are conditions for what is behind a spot: for one part of it and then for the next, because databases find
// rows by an index for each of these, and read what is before the spot for both at once.
func (s spot) behind() []condition {
	if !s.begun {
		return []condition{{}}
	}
	return []condition{{"AND next_at = ? AND id > ? ", []any{s.nextAt, s.id}}, {"AND next_at > ? ", []any{s.nextAt}}}
}

// spots is how far a search for a withdrawal that can be leased has come. What was looked at is not read again.
type spots map[queue]spot

// add passes withdrawals: the first of those that were due.
func (p spots) add(due []Withdrawal, now int64) {
	for _, w := range due {
		p[queue{w.State, w.NextAt > now}] = spotOf(w)
	}
}
