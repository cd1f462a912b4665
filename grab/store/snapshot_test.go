package store

import (
	"errors"
	"reflect"
	"testing"

	"redrain/rain"
)

// A proof is made of snapshots, so what cannot be understood is no snapshot.
func TestASnapshotIsReadWholeOrNotAtAll(t *testing.T) {
	c := &rain.Campaign{ID: "c", Spec: rain.Spec{Packets: 1_000}}
	state := func(pairs ...any) []any {
		return append([]any{"rev", "1", "left", "300", "won", "2", "last", "5-1", "moves", "3"}, pairs...)
	}
	stock, lent := []any{"3-7", "20-20", ".", "90-99"}, []any{"", "", "m1", "2 3 17 8-9 30-30"}
	got, err := parseSnapshot(c, 4, []any{state(), stock, lent})
	if want := (rain.ShardSnapshot{
		Shard: 4, Found: true, Stock: rain.Numbers{{First: 3, Last: 7}, {First: 20, Last: 20}}, Won: 2, Moves: 3,
		Lent: []rain.Lent{{Move: "m1", To: 2, Number: 3, Epoch: 17,
			Numbers: rain.Numbers{{First: 8, Last: 9}, {First: 30, Last: 30}}}},
		LastEntry: "5-1",
	}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v (%v), want %+v", got, err, want)
	}
	// A shard that is being restored has a stock, but nothing of it can be won.
	got, err = parseSnapshot(c, 4, []any{[]any{"status", "rebuilding"}, stock, lent})
	if err != nil || !reflect.DeepEqual(got, rain.ShardSnapshot{Shard: 4}) {
		t.Errorf("being restored: %+v (%v)", got, err)
	}
	none := []any{"."}
	for name, bad := range map[string][]any{
		"nothing":                nil,
		"nothing lent":           {state(), stock},
		"a fourth":               {state(), stock, lent, "x"},
		"no state":               {"x", stock, lent},
		"half a pair":            {state("x"), stock, lent},
		"a field's number":       {state(int64(1), "x"), stock, lent},
		"a value's number":       {state("x", int64(1)), stock, lent},
		"a stock in words":       {state(), "3", lent},
		"a stock of numbers":     {state(), []any{int64(3), "."}, lent},
		"a stock without an end": {state(), []any{"3-7"}, lent},
		"no stock":               {state(), []any{}, lent},
		"two ranges in one":      {state(), []any{"3-7 9-9", "."}, lent},
		"an empty range":         {state(), []any{"", "."}, lent},
		"a packet of nobody":     {state(), []any{"3-1000", "."}, lent},
		"given back, in words":   {state(), []any{".", "x"}, lent},
		"two ends":               {state(), []any{".", "."}, lent},
		"won":                    {state("won", ""), none, lent},
		"moves":                  {state("moves", "-1"), none, lent},
		"last":                   {state("last", "5"), none, lent},
		"lent in words":          {state(), none, "x"},
		"half a move":            {state(), none, []any{"m"}},
		"a move to nowhere":      {state(), none, []any{"m", "x 3 17 8-9"}},
		"a move to no shard":     {state(), none, []any{"m", "100000 3 17 8-9"}},
		"a move of nothing":      {state(), none, []any{"m", "2 3 17 "}},
		"a move without a range": {state(), none, []any{"m", "2 3 17"}},
		"a move without number":  {state(), none, []any{"m", "2 x 17 8-9"}},
		"a move without epoch":   {state(), none, []any{"m", "2 3 x 8-9"}},
		"a move of words":        {state(), none, []any{"m", "2 3 17 x"}},
	} {
		if got, err := parseSnapshot(c, 4, bad); err == nil {
			t.Errorf("%s: read as %+v", name, got)
		}
	}
	if _, err := parseSnapshot(c, 4, nil); !errors.Is(err, errReply) {
		t.Errorf("nothing: %v", err)
	}
	many := make([]string, mostRanges+1)
	for i := range many {
		many[i] = "1-1"
	}
	many[0] = "."
	if _, _, err := parseStock(many, 10); !errors.Is(err, errRanges) {
		t.Errorf("a stock in too many pieces: %v", err)
	}
}
