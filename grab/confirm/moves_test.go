package confirm

import (
	"errors"
	"testing"

	"redrain/internal/testenv"
	"redrain/rain"
)

// TestWhatIsLentMustLast: what no heir has counts as not lent, also where it is asked for again; when the heir has it
// the same packets are.
func TestWhatIsLentMustLast(t *testing.T) {
	m := &fakeMaster{info: followed}
	s, rdb := atMaster(t, m, false)
	k := s.Keys("c", 0)
	err := errors.Join(
		rdb.HSet(t.Context(), k.State, "status", "open", "left", 10, "moves", 0, "epoch", 0, "first_wave", 1).Err(),
		rdb.RPush(t.Context(), k.Stock, "0-9", ".").Err())
	testenv.Must(t, err)
	moves := NewMoves(New(s, Replica, nil, nil))
	for _, count := range []int{4, 0} {
		testenv.WantErr(t, testenv.Err(moves.Lend(t.Context(), "c", 0, 1, "m", count)), errNoReplica, "no heir has it")
	}
	m.acks = 1
	lent, err := moves.Lend(t.Context(), "c", 0, 1, "m", 0)
	if err != nil || lent == nil || lent.Numbers.String() != "6-9" {
		t.Errorf("the heir has it: %+v, %v", lent, err)
	}
	none, err := moves.Lend(t.Context(), "c", 0, 1, "n", 0)
	left, unread := rdb.LRange(t.Context(), k.Stock, 0, -1).Result()
	numbers, bad := rain.ParseNumbers(left[0], 10)
	if none != nil || errors.Join(err, unread, bad) != nil || numbers.Count() != 6 {
		t.Errorf("asked for what nobody has lent: %+v, %v; %q are left", none, err, left)
	}
}
