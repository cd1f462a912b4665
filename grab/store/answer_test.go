package store

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
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
	err := a.parse("7 3\n", 0, amounts)
	testenv.WantErr(t, err, errReply, "half an answer")
	err = a.parse("7 3\n"+now+"\nweadnlbww\n12-13 40-40\n5 "+before+" 7.3", 9, amounts)
	if err != nil || a.Left != 7 || a.EntryID != now || a.moves != 3 {
		t.Errorf("%+v, %v", a, err)
	}
	want := []outcome.Result{
		{Outcome: outcome.Won, Packet: 12, Amount: 3}, {Outcome: outcome.Empty}, {Outcome: outcome.Already},
		{Outcome: outcome.SoldOut}, {Outcome: outcome.NotOpen}, {Outcome: outcome.Limited},
		{Outcome: outcome.Won, Packet: 5, Amount: 3},
		{Outcome: outcome.Won, Packet: 13, Amount: 3}, {Outcome: outcome.Won, Packet: 40, Amount: 3},
	}
	testenv.Equal(t, a.Results, want, "results")
	testenv.Equal(t, a.EntryIDs, []string{now, "", "", "", "", "", before, now, now}, "entries")
	if err := a.parse("0 0\n\nd\n\n", 1, amounts); err != nil || len(a.Results) != 1 || len(a.EntryIDs) != 1 ||
		a.EntryID != "" {
		t.Errorf("after another: %+v, %v", a, err)
	}
	const head = "7 3\n"
	const won, again = head + now + "\nw\n12-12\n", head + "\nb\n\n5 " + before + " "
	for _, good := range []string{won, again, again + "7.3"} {
		testenv.WantErr(t, a.parse(good, 1, amounts), nil, good)
	}
	for _, bad := range []string{
		"", "\n\n\n\n", won + "\n", won + "1", won + "5 " + before + " ", again + "\n5 " + before + " ",
		"7\n" + now + "\nw\n12-12\n", "7 3 1\n" + now + "\nw\n12-12\n", "-7 3\n" + now + "\nw\n12-12\n",
		"7 -3\n" + now + "\nw\n12-12\n", "7 x\n" + now + "\nw\n12-12\n", "7 03\n" + now + "\nw\n12-12\n",
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

// A win is on record if the hash has its packet from that very entry.
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

// No reply of Redis stops the program. A reply that is accepted as an answer has a result for every tap.
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
		if len(a.Results) != n || len(a.EntryIDs) != n || len(a.isNew) != n || a.Left < 0 {
			t.Fatalf("%q: %+v", reply, a)
		}
		for i, r := range a.Results {
			if won := r.Outcome == outcome.Won; won != (r.Amount > 0) || won != isEntryID(a.EntryIDs[i]) ||
				r.Packet < 0 {
				t.Errorf("%q: %v from %q", reply, r, a.EntryIDs[i])
			}
		}
	})
}

// FuzzStock: a stock that is accepted is written in the same form.
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

func TestWinsRecord(t *testing.T) {
	want := rain.WinRecord{Win: rain.Win{User: "张三", Packet: 12, Drop: "7.3"}, Entry: "1763712000000-0", Before: "6.1"}
	testenv.Got(parseRecord("张三", "7.3", "12 1763712000000-0 6.1")).Want(t, want, "a win")
	first := rain.WinRecord{Win: rain.Win{User: "a b", Drop: "0.0"}, Entry: "1-7"}
	testenv.Got(parseRecord("a b", "0.0", "0 1-7 ")).Want(t, first, "the first win")
	for _, bad := range []string{
		"", " ", "12", "12 1-0", "12  ", "012 1-0 ", "-1 1-0 ", "x 1-0 ", "12 1 ", "12 01-0 ", "12 1--1 ", "12 1-0-0 ",
		"1000000000 1-0 ",
	} {
		if got, err := parseRecord("u", "7.3", bad); !errors.Is(err, rain.ErrUnreadable) {
			t.Errorf("%q: %v, %v", bad, got, err)
		}
	}
	for _, bad := range [][2]string{{"", "7.3"}, {"u\x00", "7.3"}, {"u", "07.3"}, {"u", ""}, {"u", "7"}} {
		if got, err := parseRecord(bad[0], bad[1], "1 1-0 "); !errors.Is(err, rain.ErrUnreadable) {
			t.Errorf("%q: %v, %v", bad, got, err)
		}
	}
}

func TestOutboxEntry(t *testing.T) {
	ref := rain.EntryRef{Campaign: "c1", Shard: 2, ID: "1763712000000-0"}
	good := map[string]string{"at": "1763711999990", "packets": "12-12 0-1",
		"wins": "AAAAAAAAAAA 7.3 a b  c\nBBBBBBBBBBB 9.1 张三\nCCCCCCCCCCC 9.1 u"}
	got, err := parseEntry(ref, good)
	want := rain.Entry{Ref: ref, SealedAt: 1763711999990, Wins: []rain.Win{
		{User: "a b  c", Packet: 12, Drop: "7.3", Seal: "AAAAAAAAAAA"},
		{User: "张三", Packet: 0, Drop: "9.1", Seal: "BBBBBBBBBBB"},
		{User: "u", Packet: 1, Drop: "9.1", Seal: "CCCCCCCCCCC"},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v (%v), want %v", got, err, want)
	}
	got, err = parseEntry(ref, map[string]string{"at": "5", "packets": "3-9 12-12", "reclaim": "AAAAAAAAAAA"})
	want = rain.Entry{Ref: ref, SealedAt: 5, Reclaim: &rain.Reclaim{Seal: "AAAAAAAAAAA",
		Numbers: rain.Numbers{{First: 3, Last: 9}, {First: 12, Last: 12}}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v (%v), want %v", got, err, want)
	}
	with := func(field, value string) map[string]string {
		bad := maps.Clone(good)
		bad[field] = value
		return bad
	}
	for _, bad := range []map[string]string{
		nil, {}, {"x": "y"}, with("at", ""), with("at", "x"), with("at", "-1"), with("packets", ""),
		with("packets", "12-12 0-2"), with("packets", "12-12"), with("packets", "x"), with("packets", "12-12 0-1 "),
		with("wins", ""), with("wins", good["wins"]+"\n"), with("reclaim", "AAAAAAAAAAA"), with("x", "y"),
		with("packets", "0-99999999999"),
		{"at": "1", "wins": good["wins"]}, {"at": "1", "reclaim": "s"}, {"at": "1", "packets": "1-1"},
	} {
		if got, err := parseEntry(ref, bad); !errors.Is(err, rain.ErrUnreadable) && !errors.Is(err, rain.ErrNumbers) {
			t.Errorf("%q: %v, %v", bad, got, err)
		}
	}
	testenv.WantFail(t, testenv.Err(parseEntry(rain.EntryRef{Campaign: "c1", ID: "x"}, good)),
		"an entry without a position was taken")
}

// An entry that is read has a packet for each of its wins, and each line is kept as it was.
func FuzzParseEntry(f *testing.F) {
	for _, s := range []string{"s 7.3 u", "s 7.3 a b\nt 9.1 张三", "", "\n", "s 1.1 \n", "1 2"} {
		f.Add("12-12 3-3", "wins", s)
		f.Add("12-13", "reclaim", s)
	}
	f.Fuzz(func(t *testing.T, packets, field, text string) {
		entry, err := parseEntry(rain.EntryRef{Campaign: "c", ID: "1-0"},
			map[string]string{"at": "1", "packets": packets, field: text})
		if err != nil {
			return
		}
		if r := entry.Reclaim; r != nil {
			if r.Numbers.String() != packets || r.Seal != text || entry.Wins != nil || field != "reclaim" {
				t.Errorf("%q, %q was read as %+v", packets, text, r)
			}
			return
		}
		lines := strings.Split(text, "\n")
		numbers, err := rain.ParseNumbers(packets, rain.MaxPackets)
		if err != nil || field != "wins" || len(entry.Wins) != numbers.Count() || len(lines) != len(entry.Wins) {
			t.Fatalf("%q, %q was read as %+v", packets, text, entry)
		}
		i := 0
		for packet := range numbers.Each() {
			w := entry.Wins[i]
			if w.Packet != packet || !strings.HasPrefix(lines[i], w.Seal) || !strings.HasSuffix(lines[i], w.User) {
				t.Errorf("%q was read as %+v", lines[i], w)
			}
			i++
		}
	})
}
