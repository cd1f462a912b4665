package store

import (
	"errors"
	"reflect"
	"testing"

	"redrain/rain"
)

// A proof is made of snapshots, so what cannot be understood is no snapshot.
func TestASnapshotIsReadWholeOrNotAtAll(t *testing.T) {
	state := func(pairs ...any) []any {
		return append([]any{"rev", "1", "left", "300", "won", "2", "amount_won", "200", "last", "5-1"}, pairs...)
	}
	entry := []any{"5-1", []any{"wins", "0 100 7.3 p\n1 100 7.3 q"}}
	got, err := parseSnapshot("c", 4, []any{state(), int64(3), []any{entry}})
	wins := []rain.Win{
		{User: "p", Packet: 0, Amount: 100, Drop: "7.3"}, {User: "q", Packet: 1, Amount: 100, Drop: "7.3"},
	}
	if want := (rain.ShardSnapshot{
		Shard: 4, Found: true, Packets: 3, Left: 300, Won: 2, AmountWon: 200, LastEntry: "5-1",
		Entries: []rain.Entry{{Ref: rain.EntryRef{Campaign: "c", Shard: 4, ID: "5-1"}, Wins: wins}},
	}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v (%v), want %+v", got, err, want)
	}
	// A shard that is loading has a stock, but nothing of it can be won.
	got, err = parseSnapshot("c", 4, []any{[]any{"status", "loading"}, int64(3), []any{}})
	if err != nil || !reflect.DeepEqual(got, rain.ShardSnapshot{Shard: 4}) {
		t.Errorf("loading: %+v (%v)", got, err)
	}
	for name, bad := range map[string][]any{
		"nothing":             nil,
		"no outbox":           {state(), int64(3)},
		"a fourth":            {state(), int64(3), []any{}, "x"},
		"no state":            {"x", int64(3), []any{}},
		"half a pair":         {state("x"), int64(3), []any{}},
		"a field's number":    {state(int64(1), "x"), int64(3), []any{}},
		"a value's number":    {state("x", int64(1)), int64(3), []any{}},
		"a stock in words":    {state(), "3", []any{}},
		"an outbox of words":  {state(), int64(3), "x"},
		"left":                {state("left", "x"), int64(3), []any{}},
		"won":                 {state("won", ""), int64(3), []any{}},
		"amount won":          {state("amount_won", "-1"), int64(3), []any{}},
		"an entry of words":   {state(), int64(3), []any{"x"}},
		"an entry of one":     {state(), int64(3), []any{[]any{"5-1"}}},
		"an entry of three":   {state(), int64(3), []any{append(entry, "x")}},
		"an id that is none":  {state(), int64(3), []any{[]any{int64(5), entry[1]}}},
		"an id of nobody":     {state(), int64(3), []any{[]any{"5", entry[1]}}},
		"an entry's fields":   {state(), int64(3), []any{[]any{"5-1", "wins"}}},
		"an entry's one word": {state(), int64(3), []any{[]any{"5-1", []any{"wins"}}}},
		"an entry's line":     {state(), int64(3), []any{[]any{"5-1", []any{"wins", "0 100 7.3"}}}},
	} {
		if got, err := parseSnapshot("c", 4, bad); err == nil || !reflect.DeepEqual(got, rain.ShardSnapshot{}) {
			t.Errorf("%s: read as %+v (%v)", name, got, err)
		}
	}
	if _, err := parseSnapshot("c", 4, nil); !errors.Is(err, errReply) {
		t.Errorf("nothing: %v", err)
	}
}
