package store

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"redrain/rain"
)

func TestWinsRecord(t *testing.T) {
	const text = ";7.3=12=88=1763712000000-0;9.1=0=1000000000000000=1763712000001-7"
	got, err := parseRecords("张三", text)
	want := []Record{
		{rain.Win{User: "张三", Packet: 12, Amount: 88, Drop: "7.3"}, "1763712000000-0"},
		{rain.Win{User: "张三", Packet: 0, Amount: 1_000_000_000_000_000, Drop: "9.1"}, "1763712000001-7"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v (%v), want %v", got, err, want)
	}
	for _, bad := range []string{
		";", "7.3=12=88=1-0", ";7.3=12=88", ";7.3=12=88=1-0;", ";7.3=12=88=1-0=1", ";07.3=12=88=1-0", ";7.3=-1=88=1-0",
		";7.3=12=0=1-0",
		";7.3=012=88=1-0", ";7.3=10000000=1=1-0", ";7.3=1=1000000000000001=1-0", ";7.3=1=1e+15=1-0", ";7.3=12=88=",
		";7.3=12=88=1",
		";7.3=12=88=01-0", ";7.3=12=88=1-0-0", ";7.3=12=88=1--1",
	} {
		if got, err := parseRecords("u", bad); !errors.Is(err, errRecord) {
			t.Errorf("%q: %v, %v", bad, got, err)
		}
	}
}

func TestOutboxEntry(t *testing.T) {
	ref := rain.EntryRef{Campaign: "c1", Shard: 2, ID: "1763712000000-0"}
	got, err := parseEntry(ref, map[string]string{"wins": "12 88 7.3 a b  c\n0 1 9.1 张三"})
	want := rain.Entry{Ref: ref, Wins: []rain.Win{
		{User: "a b  c", Packet: 12, Amount: 88, Drop: "7.3"}, {User: "张三", Packet: 0, Amount: 1, Drop: "9.1"},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v (%v), want %v", got, err, want)
	}
	got, err = parseEntry(ref, map[string]string{"reclaim": "12 88"})
	want = rain.Entry{Ref: ref, Reclaim: &rain.Reclaim{Packets: 12, Amount: 88}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v (%v), want %v", got, err, want)
	}
	for _, bad := range []map[string]string{
		nil, {}, {"x": "y"}, {"wins": ""}, {"wins": "12 88 7.3"}, {"wins": "12 88 7.3 "}, {"wins": "12 88 7.3 u\n"},
		{"wins": "12 88 7 u"},
		{"wins": "12 +88 7.3 u"}, {"wins": "12 88 7.3 u\x00"}, {"wins": "12 88 7.3 u", "reclaim": "1 1"},
		{"reclaim": ""}, {"reclaim": "12"}, {"reclaim": "0 0"}, {"reclaim": "12 88 1"}, {"reclaim": "1 -1"},
	} {
		if got, err := parseEntry(ref, bad); !errors.Is(err, errRecord) {
			t.Errorf("%q: %v, %v", bad, got, err)
		}
	}
	if _, err := parseEntry(rain.EntryRef{Campaign: "c1", ID: "x"}, map[string]string{"reclaim": "1 1"}); err == nil {
		t.Error("an entry without a position was taken")
	}
}

func TestHolding(t *testing.T) {
	const one, two = ";7.3=12=88=1-0", ";9.1=40=5=1-1"
	got, err := parseHolding("u", "15.4 3 2 181"+one)
	if err != nil || got.blocks != 2 || got.total() != 269 || len(got.records) != 1 ||
		!slices.Equal(got.fields("u"), []string{"u\n1", "u\n2"}) {
		t.Errorf("%+v, %v", got, err)
	}
	all, err := got.with("u", []string{one + two, "9.1" + one})
	if err != nil || len(all) != 4 || all[1].Win.Packet != 40 || all[3] != got.records[0] {
		t.Errorf("%+v, %v", all, err)
	}
	for _, blocks := range [][]string{{one, one}, {one + two, two}, {one + two, ""}, {"x" + one + two, one},
		{one + two, "9.1" + one + ";"}, {one + two, "09.1" + one}, {one + two, "9" + one}} {
		if _, err := got.with("u", blocks); !errors.Is(err, errRecord) {
			t.Errorf("blocks %q: %v", blocks, err)
		}
	}
	if got, err := parseHolding("u", one+two); err != nil || got.blocks != 0 || got.total() != 93 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{
		"15.4 3 2 181", "15 3 2 181" + one, "3 2 181" + one, "15.4 3 2 " + one, "15.4 3 2 181 1" + one,
		"15.4 3 0 181" + one, "15.4 1 2 181" + one, "15.4 3 2 2" + one,
		"15.4 3 02 181" + one, "15.4 -3 2 181" + one, "15.4 3 2 1000000000000001" + one,
		"15.4 10000001 2 10000001" + one, "15.4 3 2 181;",
		" " + one, "x",
	} {
		if got, err := parseHolding("u", bad); !errors.Is(err, errRecord) {
			t.Errorf("%q: %+v, %v", bad, got, err)
		}
	}
}

// What is read is what the script would write for it, so nothing is read in two ways.
func FuzzParseRecords(f *testing.F) {
	for _, s := range []string{"", ";7.3=12=88=1-0", ";7.3=12=88=1-0;9.1=40=5=1-1", ";", ";7.3===", "7.3=1=1=1-1",
		";7.3=9999999=1000000000000000=1-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		records, err := parseRecords("u", text)
		if err != nil {
			return
		}
		var b strings.Builder
		for _, r := range records {
			checkWin(t, r.Win)
			b.WriteString(r.text())
		}
		if b.String() != text {
			t.Errorf("%q was read as %v", text, records)
		}
	})
}

func FuzzParseEntry(f *testing.F) {
	for _, s := range []string{"12 88 7.3 u", "12 88 7.3 a b\n0 1 9.1 张三", "", "\n", "1 1 1.1 \n", "1 2"} {
		f.Add("wins", s)
		f.Add("reclaim", s)
	}
	f.Fuzz(func(t *testing.T, field, text string) {
		entry, err := parseEntry(rain.EntryRef{Campaign: "c", ID: "1-0"}, map[string]string{field: text})
		if err != nil {
			return
		}
		var lines []string
		for _, w := range entry.Wins {
			checkWin(t, w)
			lines = append(lines, strconv.Itoa(w.Packet)+" "+strconv.Itoa(int(w.Amount))+" "+w.Drop+" "+w.User)
		}
		if r := entry.Reclaim; r != nil {
			if r.Packets < 1 || r.Amount < 1 {
				t.Errorf("%q was read as %+v", text, r)
			}
			lines = append(lines, strconv.Itoa(r.Packets)+" "+strconv.Itoa(int(r.Amount)))
		}
		if strings.Join(lines, "\n") != text || (entry.Reclaim != nil) != (field == "reclaim") {
			t.Errorf("%q was read as %+v", text, entry)
		}
	})
}

func checkWin(t *testing.T, w rain.Win) {
	t.Helper()
	_, ok := rain.ParseDrop(w.Drop)
	if !ok || w.Packet < 0 || w.Amount < 1 || w.Amount > rain.MaxBudget || rain.CheckUser(w.User) != nil {
		t.Errorf("read a win that cannot be: %+v", w)
	}
}
