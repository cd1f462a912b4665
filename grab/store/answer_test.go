package store

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"redrain/grab/outcome"
	"redrain/rain"
)

func TestTheScriptsAnswerIsReadWholeOrNotAtAll(t *testing.T) {
	const now, before = "1763712000000-1", "1763711999999-0"
	var a Answer
	err := a.parse("7\n"+now+"\nweasnlbww\n12\n88 1:3 4\n5=6="+before, 9)
	if err != nil || a.Left != 7 || a.Entry != now {
		t.Errorf("%+v, %v", a, err)
	}
	want := []outcome.Result{
		{Outcome: outcome.Won, Packet: 12, Amount: 88}, {Outcome: outcome.Empty}, {Outcome: outcome.Already},
		{Outcome: outcome.SoldOut}, {Outcome: outcome.NotOpen}, {Outcome: outcome.Limited},
		{Outcome: outcome.Won, Packet: 5, Amount: 6},
		{Outcome: outcome.Won, Packet: 1, Amount: 3}, {Outcome: outcome.Won, Packet: 14, Amount: 4},
	}
	if !slices.Equal(a.Results, want) {
		t.Errorf("results %v, want %v", a.Results, want)
	}
	if !slices.Equal(a.Entries, []string{now, "", "", "", "", "", before, now, now}) {
		t.Errorf("entries %q", a.Entries)
	}
	if err := a.parse("0\n\ns\n\n\n", 1); err != nil || len(a.Results) != 1 || len(a.Entries) != 1 || a.Entry != "" {
		t.Errorf("after another: %+v, %v", a, err)
	}
	const won, again = "7\n" + now + "\nw\n12\n88\n", "7\n\nb\n\n\n5=6=" + before
	for _, good := range []string{won, again} {
		if err := a.parse(good, 1); err != nil {
			t.Errorf("%q: %v", good, err)
		}
		for cut := range good {
			if strings.HasPrefix(before, good[strings.LastIndexByte(good[:cut], '=')+1:cut]) &&
				strings.Contains(good[:cut], "-") {
				continue // what is left is an entry's id, too
			}
			if err := a.parse(good[:cut], 1); !errors.Is(err, errReply) {
				t.Errorf("%q was read as %+v", good[:cut], a)
			}
		}
	}
	for _, bad := range []string{
		won + "\n", won + "1", won + "5=6=" + before, again + " ", again + " " + again, again + "=1",
		"7\n" + now + "\nw\n12\n88 \n", "7\n" + now + "\nw\n12\n88 1\n", "7\n" + now + "\nw\n12\n 88\n",
		"7\n" + now + "\nw\n12\n0\n",
		"7\n" + now + "\nw\n12\n1:0\n", "7\n" + now + "\nw\n12\n:8\n", "7\n" + now + "\nw\n12\n1:2:3\n",
		"7\n" + now + "\nw\n12\n-8\n",
		"7\n" + now + "\nw\n\n88\n", "7\n" + now + "\nw\n012\n88\n", "7\n\nw\n12\n88\n", "7\nx\nw\n12\n88\n",
		"7\n01-1\nw\n12\n88\n",
		"-7\n" + now + "\nw\n12\n88\n", "\n" + now + "\nw\n12\n88\n", "7\n" + now + "\n\n12\n88\n",
		"7\n" + now + "\nww\n12\n88 88\n",
		"7\n" + now + "\ns\n12\n\n", "7\n" + now + "\ns\n\n\n", "7\n\ns\n12\n\n", "7\n\ns\n\n88\n", "7\n\n0\n\n\n",
		"7\n\nx\n\n\n",
		"7\n\nb\n\n\n5=0=" + before, "7\n\nb\n\n\n5=6=", "7\n\nb\n\n\n5=6=x", "7\n\nb\n\n\n=6=" + before,
		"7\n\nb\n\n\n5=06=" + before,
	} {
		if err := a.parse(bad, 1); !errors.Is(err, errReply) {
			t.Errorf("%q was read as %+v", bad, a)
		}
	}
	for _, bad := range []string{ // the first of two
		"7\n" + now + "\nww\n12\nx:88 88\n", "7\n\nbb\n\n\nx=6=" + before + " 5=6=" + before,
	} {
		if err := a.parse(bad, 2); !errors.Is(err, errReply) {
			t.Errorf("%q was read as %+v", bad, a)
		}
	}
}

// Of which win is on record is told of each or of none.
func TestOnRecordNeedsAWholeAnswer(t *testing.T) {
	of := []Record{{Win: rain.Win{User: "p"}}, {Win: rain.Win{User: "q"}}}
	for _, n := range []int{0, 1, 3} {
		got, err := OnRecord(of, func([]string) ([]any, error) { return make([]any, n), nil })
		if !errors.Is(err, errReply) {
			t.Errorf("%d fields for two players: %v, %v", n, got, err)
		}
	}
}

// Errors of the scripts have names; those of others stay as they are.
func TestErrorsHaveNames(t *testing.T) {
	for text, want := range map[string]error{
		"NOSTATE": ErrNoState, "ALIVE it is": ErrAlive, "SUPERSEDED x": ErrSuperseded, "UNSETTLED": ErrUnsettled,
	} {
		err := errors.New(text)
		if got := named(err); !errors.Is(got, want) || !errors.Is(got, err) {
			t.Errorf("%q became %v", text, got)
		}
	}
	for _, text := range []string{"", "ERR NOSTATE", "NOSTATES"} {
		if got := named(errors.New(text)); got.Error() != text {
			t.Errorf("%q became %v", text, got)
		}
	}
}

// Whatever Redis says, the program goes on, and what it takes for an answer has a result for every tap.
func FuzzAnswer(f *testing.F) {
	f.Add("7\n1-1\nwwb\n12\n88 1:3\n5=6=1-0", 3)
	f.Add("0\n\nsne\n\n\n", 3)
	f.Fuzz(func(t *testing.T, reply string, n int) {
		var a Answer
		if a.parse(reply, n) != nil {
			return
		}
		if len(a.Results) != n || len(a.Entries) != n || a.Left < 0 {
			t.Fatalf("%q: %+v", reply, a)
		}
		for i, r := range a.Results {
			if won := r.Outcome == outcome.Won; won != (r.Amount > 0) || won != isEntryID(a.Entries[i]) ||
				r.Packet < 0 {
				t.Errorf("%q: %v from %q", reply, r, a.Entries[i])
			}
		}
	})
}
