package payout

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"redrain/internal/seal"
	"redrain/rain"
)

var mark = strings.Repeat("x", seal.Size)

func entry(wins ...rain.Win) rain.Entry {
	return rain.Entry{Ref: rain.EntryRef{Campaign: "c1", Shard: 7, ID: "1763712000000-3"}, SealedAt: 1_763_711_999_990,
		Wins: wins}
}

func win(user string, packet int) rain.Win {
	return rain.Win{User: user, Packet: packet, Drop: "7.3", Seal: mark}
}

func reclaim(numbers ...rain.Range) rain.Entry {
	e := entry()
	e.Reclaim = &rain.Reclaim{Numbers: numbers, Seal: mark}
	return e
}

// An amount is never encoded: the reader of the entry computes it.
func TestTheTextOfAnEntry(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]rain.Entry{
		"c1 7 1763712000000-3 1763711999990\n4-5 1-1\n" + mark + " 7.3 u1\n" + mark + " 7.3 张 伟\n" + mark +
			" 7.3 u3": entry(
			win("u1", 4), win("张 伟", 5), win("u3", 1)),
		"c1 7 1763712000000-3 1763711999990\n4-9 12-12\nreclaim " + mark: reclaim(rain.Range{First: 4, Last: 9},
			rain.Range{First: 12, Last: 12}),
	} {
		for i := range e.Wins {
			e.Wins[i].Amount = 88_123
		}
		if e.Reclaim != nil {
			e.Reclaim.Amount = 88_123
		}
		if got := EncodeEntry(e); string(got) != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAnEntryComesBackAsItWas(t *testing.T) {
	t.Parallel()
	for _, e := range []rain.Entry{
		entry(win("u1", 0)),
		entry(win("u1", 5), win("u2", 6), win("u1", 7), win("u4", 3), win("u5", rain.MaxPackets-1)),
		entry(win("", 0), win(" ", 1), win("a b  c", 2), win("reclaim", 3), win("\x00\xff", 4)),
		reclaim(rain.Range{First: 0, Last: rain.MaxPackets - 1}),
		reclaim(rain.Range{First: 5, Last: 9}, rain.Range{First: 1, Last: 1}),
		{Ref: rain.EntryRef{Campaign: "c1", ID: "1-0"}, Epoch: 3, Wins: []rain.Win{win("u1", 0)}},
	} {
		if got, err := DecodeEntry(EncodeEntry(e)); err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("%+v, %v\nwant %+v", got, err, e)
		}
	}
}

func TestNonsenseIsNoEntry(t *testing.T) {
	t.Parallel()
	const head = "c1 7 1-0 5\n"
	line := mark + " 7.3 u1"
	for _, text := range []string{
		"", "\n", "\n\n", head, head + "0-0", head + "0-0\n", head + "\n" + line,
		"c1 7 1-0\n0-0\n" + line, "c1 7 1-0 5 0\n0-0\n" + line, "c1 7 1-0 5 x\n0-0\n" + line,
		"c1 7 1-0 5 6 7\n0-0\n" + line, "c1 x 1-0 5\n0-0\n" + line, "c1 7 1-0 x\n0-0\n" + line,
		head + "0-1\n" + line,                   // a packet too many
		head + "0-0\n" + line + "\n" + line,     // a win too many
		head + "0-0\n" + mark + " 7.3",          // no player
		head + "1-0\n" + line,                   // backwards
		head + "-1--1\n" + line,                 // no number
		head + "0\n" + line,                     // no range
		head + "100000000-100000000\n" + line,   // more than any campaign has
		head + "\nreclaim " + mark,              // of nothing
		head + "x\nreclaim " + mark,             // of no numbers
		`{"ref":{"campaign":"c1","id":"1-0"}}`,  // as it was once
		head + "0-99999999\n" + line,            // a hundred million packets in one line
		head + strings.Repeat("0-99999999 ", 9), // and a space at the end
	} {
		if e, err := DecodeEntry([]byte(text)); err == nil {
			t.Errorf("%q is read as %+v", text, e)
		}
	}
}

func TestAMessageIsOfThisInstallation(t *testing.T) {
	t.Parallel()
	ring := seal.NewRing(seal.Secret{1})
	e := entry(win("u1", 0), win("u2", 1))
	message := SealMessage(ring, EncodeEntry(e))
	if got, err := OpenMessage(ring, message); err != nil || !reflect.DeepEqual(got, e) {
		t.Fatalf("%+v, %v", got, err)
	}
	for i := range message {
		altered := bytes.Clone(message)
		altered[i] ^= 1
		if got, err := OpenMessage(ring, altered); !errors.Is(err, ErrSeal) {
			t.Fatalf("with byte %d altered: %+v, %v", i, got, err)
		}
	}
	for what, other := range map[string][]byte{
		"cut off": message[:len(message)-1], "longer": append(bytes.Clone(message), ' '),
		"without a seal": EncodeEntry(e), "an empty seal": append([]byte("\n"), EncodeEntry(e)...), "nothing": nil,
		"of another installation": SealMessage(seal.NewRing(seal.Secret{2}), EncodeEntry(e)),
	} {
		if got, err := OpenMessage(ring, other); !errors.Is(err, ErrSeal) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	if _, err := OpenMessage(ring, SealMessage(ring, []byte("nonsense"))); err == nil || errors.Is(err, ErrSeal) {
		t.Errorf("sealed nonsense: %v", err)
	}
}

// FuzzDecode: a decoded text encodes to an equal entry, and its size bounds the entry's.
func FuzzDecode(f *testing.F) {
	f.Add(EncodeEntry(entry(win("u1", 4), win("张 伟", 5), win("u3", 1))))
	f.Add(EncodeEntry(reclaim(rain.Range{First: 4, Last: 9}, rain.Range{First: 12, Last: 12})))
	f.Add([]byte("c1 +7 1-0 -5\n0-0 1-1\nreclaim\x00 reclaim \n  \n"))
	f.Add([]byte("c1 7 1-0 5\n0-99999999\n" + mark + " 7.3 u1"))
	f.Add([]byte("  0  0\n0-0\n \n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := DecodeEntry(data)
		if err != nil {
			return
		}
		if len(e.Wins) > len(data) || (len(e.Wins) == 0) == (e.Reclaim == nil) {
			t.Fatalf("%q is read as %+v", data, e)
		}
		if again, err := DecodeEntry(EncodeEntry(e)); err != nil || !reflect.DeepEqual(again, e) {
			t.Fatalf("%q: %+v, %v\nwas %+v", data, again, err, e)
		}
	})
}

func BenchmarkEntryText(b *testing.B) {
	ring := seal.NewRing(seal.Secret{1})
	e := entry()
	for n := range 50 {
		e.Wins = append(e.Wins, win(fmt.Sprintf("player-%d", n), n))
	}
	message := SealMessage(ring, EncodeEntry(e))
	b.Run("write 50 wins", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			SealMessage(ring, EncodeEntry(e))
		}
	})
	b.Run("read 50 wins", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := OpenMessage(ring, message); err != nil {
				b.Fatal(err)
			}
		}
	})
}
