package store

import (
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/rain"
)

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
