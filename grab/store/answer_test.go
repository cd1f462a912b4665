package store

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"redrain/grab/outcome"
	"redrain/internal/testenv"
	"redrain/rain"
)

// evenAmounts are those of a campaign whose packets hold 3 each.
func evenAmounts(t testing.TB, packets int) *rain.Amounts {
	t.Helper()
	c := &rain.Campaign{Spec: rain.Spec{Budget: rain.Money(packets) * 3, Packets: packets, Min: 1, Split: rain.Even}}
	return testenv.Got(rain.NewAmounts(c)).Must(t)
}

func TestTheScriptsAnswerIsReadWholeOrNotAtAll(t *testing.T) {
	const now, before = "1763712000000-1", "1763711999999-0"
	amounts := evenAmounts(t, 100)
	var a Answer
	err := a.parse("7 3 1763712000 000123\n", 0, amounts)
	testenv.WantErr(t, err, errReply, "half an answer")
	err = a.parse("7 3 1763712000 123\n"+now+"\nweadnlbww\n12-13 40-40\n5 "+before+" 7.3", 9, amounts)
	if err != nil || a.Left != 7 || a.Entry != now || a.moves != 3 || a.Time != 1763712000_000123 {
		t.Errorf("%+v, %v", a, err)
	}
	want := []outcome.Result{
		{Outcome: outcome.Won, Packet: 12, Amount: 3}, {Outcome: outcome.Empty}, {Outcome: outcome.Already},
		{Outcome: outcome.SoldOut}, {Outcome: outcome.NotOpen}, {Outcome: outcome.Limited},
		{Outcome: outcome.Won, Packet: 5, Amount: 3},
		{Outcome: outcome.Won, Packet: 13, Amount: 3}, {Outcome: outcome.Won, Packet: 40, Amount: 3},
	}
	testenv.Equal(t, a.Results, want, "results")
	testenv.Equal(t, a.Entries, []string{now, "", "", "", "", "", before, now, now}, "entries")
	if err := a.parse("0 0 1 2\n\nd\n\n", 1, amounts); err != nil || len(a.Results) != 1 || len(a.Entries) != 1 ||
		a.Entry != "" {
		t.Errorf("after another: %+v, %v", a, err)
	}
	const head = "7 3 1 2\n"
	const won, again = head + now + "\nw\n12-12\n", head + "\nb\n\n5 " + before + " "
	for _, good := range []string{won, again, again + "7.3"} {
		testenv.WantErr(t, a.parse(good, 1, amounts), nil, good)
	}
	for _, bad := range []string{
		"", "\n\n\n\n", won + "\n", won + "1", won + "5 " + before + " ", again + "\n5 " + before + " ",
		"7 3 1\n" + now + "\nw\n12-12\n", "7 3 1 2 3\n" + now + "\nw\n12-12\n", "-7 3 1 2\n" + now + "\nw\n12-12\n",
		"7 -3 1 2\n" + now + "\nw\n12-12\n", "7 3 x 2\n" + now + "\nw\n12-12\n", "7 3 1 02\n" + now + "\nw\n12-12\n",
		head + now + "\nw\n12\n", head + now + "\nw\n12-13\n", head + now + "\nw\n13-12\n", head + now + "\nw\n\n",
		head + now + "\nw\n12-12 13-13\n", head + now + "\nw\n-12\n", head + now + "\nw\n012-12\n",
		head + now + "\nw\n100-100\n", // the campaign has no such packet
		head + "\nw\n12-12\n", head + "x\nw\n12-12\n", head + "01-1\nw\n12-12\n", head + now + "\n\n12-12\n",
		head + now + "\nww\n12-13\n", head + now + "\nd\n12-12\n", head + now + "\nd\n\n", head + "\nd\n12-12\n",
		head + "\n0\n\n", head + "\nx\n\n", head + "\ns\n\n",
		head + "\nb\n\n", head + "\nb\n\n5", head + "\nb\n\n5 ", head + "\nb\n\n5 x", head + "\nb\n\n05 " + before,
		head + "\nb\n\n100 " + before + " ", head + "\nb\n\n-5 " + before + " ", head + "\nb\n\n " + before + " ",
	} {
		if err := a.parse(bad, 1, amounts); !errors.Is(err, errReply) {
			t.Errorf("%q was read as %+v", bad, a)
		}
	}
	for _, bad := range []string{head + "\nbb\n\n5 " + before + " ", head + "\nbb\n\nx\n5 " + before + " "} {
		if err := a.parse(bad, 2, amounts); !errors.Is(err, errReply) {
			t.Errorf("%q was read as %+v", bad, a)
		}
	}
}

// A win is on record where the hash has its packet from that very entry.
func TestARecordHasPacketAndEntry(t *testing.T) {
	of := rain.WinRecord{Win: rain.Win{User: "p", Packet: 7, Drop: "1.0"}, Entry: "5-1"}
	testenv.Equal(t, WinField(of.Win), "p\n1.0", "asked for")
	for value, want := range map[any]bool{
		"7 5-1 ": true, "7 5-1 0.3": true, "8 5-1 ": false, "7 5-2 ": false, "7 5-1": false, "": false, nil: false,
		7: false,
	} {
		testenv.Equal(t, IsRecord(value, of), want, "%q", value)
	}
}

// Whatever Redis says, the program goes on, and what it takes for an answer has a result for every tap.
func FuzzAnswer(f *testing.F) {
	f.Add("7 0 1 2\n1-1\nwwb\n12-13\n5 1-0 ", 3)
	f.Add("0 1 1 2\n\ndne\n\n", 3)
	f.Add("0 1 1 2\n1-1\nww\n0-0 7-7\n", 2)
	amounts := evenAmounts(f, 1_000)
	f.Fuzz(func(t *testing.T, reply string, n int) {
		var a Answer
		if a.parse(reply, n, amounts) != nil {
			return
		}
		if len(a.Results) != n || len(a.Entries) != n || len(a.fresh) != n || a.Left < 0 {
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

// FuzzStock: what is taken for a stock is written the same way.
func FuzzStock(f *testing.F) {
	f.Add("0-4", "7-7", ".", "9-9")
	f.Add(".", "", "", "x")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		elements := []string{a, b, c, d}
		stock, reclaimed, invalid := parseStock(elements, 1_000)
		if len(invalid) > 0 {
			return
		}
		var again []string
		for _, r := range stock {
			again = append(again, rain.Numbers{r}.String())
		}
		again = append(again, stockEnd)
		for _, r := range reclaimed {
			again = append(again, strconv.Itoa(r.First)+"-"+strconv.Itoa(r.Last))
		}
		if !slices.Equal(again, elements) {
			t.Errorf("%q was read as %v and %v", elements, stock, reclaimed)
		}
	})
}
