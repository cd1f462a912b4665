package reconcile

import (
	"context"
	"encoding/json"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/checkpoint"
	"redrain/payout/ledger/history"
)

// turnKinds are the kinds of things of which there are ever more and which are never over: what operators have done
// about players, verdicts, lists. A proof of what is recent looks at those that are new, and at some of all of them,
// beginning behind those that the one before has looked at: so each has its turn.
var turnKinds = []history.Kind{history.Sanction, history.Verdict, history.List}

const (
	// turnThings is how many things of each kind have their turn in one proof.
	turnThings = 5_000
	// mostWrong is how many things of a kind, in which something is wrong, are looked at again by each proof.
	mostWrong = 200
)

// turns is how far the turns have come.
type turns struct {
	After map[history.Kind]string   `json:"after,omitempty"` // the last thing that had its turn
	Wrong map[history.Kind][]string `json:"wrong,omitempty"` // each proof looks at these, until nothing is wrong there
}

// turn is what has its turn in one proof.
type turn struct {
	known bool   // it was read
	kept  string // the turns before it, as they are kept
	next  turns  // and after it
	ids   map[history.Kind][]string
}

// readTurn finds out what has its turn. Where somebody has changed how far the turns had come, they begin anew.
func (s *Reconciler) readTurn(ctx context.Context) (t turn, err error) {
	if t.kept, err = checkpoint.Turns(ctx, s.db); err != nil {
		return t, err
	}
	var was turns
	if json.Unmarshal([]byte(t.kept), &was) != nil {
		was = turns{}
	}
	t.ids = map[history.Kind][]string{}
	t.next = turns{After: map[history.Kind]string{}, Wrong: map[history.Kind][]string{}}
	for _, kind := range turnKinds {
		ids, last, err := s.behind(ctx, kind, was.After[kind])
		if err != nil {
			return t, err
		}
		t.ids[kind] = append(ids, was.Wrong[kind]...)
		if last != "" {
			t.next.After[kind] = last
		}
	}
	t.known = true
	return t, nil
}

// behind are the next things behind one, those too of which only a history is left; behind the last comes the first.
// last is where the next turn begins; "": at the first, because these are all.
func (s *Reconciler) behind(ctx context.Context, kind history.Kind, after string) (ids []string, last string,
	err error) {
	for fromFirst := after == ""; len(ids) < s.turn; {
		want := min(s.turn-len(ids), sqldb.Chunk)
		page, err := merged(ctx, s.db, history.Next(kind), after, want)
		if err != nil {
			return nil, "", err
		}
		ids = append(ids, page...)
		switch {
		case len(page) == want:
			after = page[want-1]
		case fromFirst:
			return ids, "", nil
		default:
			fromFirst, after = true, ""
		}
	}
	return ids, after, nil
}

// keepTurn keeps how far the turns have come, and what is looked at again, where that has changed.
func (r *recentProof) keepTurn(ctx context.Context) error {
	if !r.turn.known {
		return nil // it broke off, and is read again
	}
	for kind, wrong := range r.wrong {
		if ids := sortedKeys(wrong); len(ids) > 0 {
			r.turn.next.Wrong[kind] = ids[:min(len(ids), mostWrong)]
		}
	}
	place, err := json.Marshal(r.turn.next)
	if err != nil || string(place) == r.turn.kept || r.turn.kept == "" && string(place) == "{}" {
		return err
	}
	return checkpoint.KeepTurns(ctx, r.s.db, string(place), r.s.clock())
}
