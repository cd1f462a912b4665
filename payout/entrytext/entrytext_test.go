package entrytext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"redrain/rain"
)

// TestEncodeEntry writes what encoding/json writes, whatever is in an entry.
func TestEncodeEntry(t *testing.T) {
	t.Parallel()
	odd := []string{"u1", "", "张伟", `a"b\c`, "<b>&", "\u2028", "\xff", "\x00\n", "u\x7f", strings.Repeat("x", 300)}
	for _, text := range odd {
		for _, e := range []rain.Entry{
			entry("c1", 1, win(text, 1, 88), win("u2", 0, 1)),
			entry(text, 1, win("u1", 1, 88)),
			entry("c1", 1),
			{Ref: rain.EntryRef{Campaign: "c", Shard: -1, ID: text},
				Wins: []rain.Win{{User: "u", Packet: -1, Amount: -5, Drop: text}}},
			{Ref: rain.EntryRef{Campaign: "c", Shard: 3, ID: text}, Reclaim: &rain.Reclaim{Packets: 1, Amount: 2}},
		} {
			want, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := Encode(e); !bytes.Equal(got, want) || err != nil {
				t.Errorf("%s, %v\nwant %s", got, err, want)
			}
		}
	}
}

// TestPlainEntriesAreCut: the common form does not go through reflection.
func TestPlainEntriesAreCut(t *testing.T) {
	t.Parallel()
	want := entry("c1", 7, win("u1", 1, 88), win("u 2", 0, rain.MaxBudget), win("}", 3, 1))
	data, err := Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := cutEntry(string(data)); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %+v, want %+v", ok, got, want)
	}
}

// FuzzDecodeEntry: what is read by hand is what encoding/json reads, and the same is refused.
func FuzzDecodeEntry(f *testing.F) {
	for _, e := range []rain.Entry{
		entry("c1", 1, win("u1", 1, 88), win("u2", 0, 1)),
		entry("c1", 1, win("张伟", 1, 88)),
		{Ref: rain.EntryRef{Campaign: "c1", ID: "1-0"}, Reclaim: &rain.Reclaim{Packets: 1, Amount: 2}},
	} {
		data, err := json.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	const wins = `{"ref":{"campaign":"c1","shard":0,"id":"1-0"},` +
		`"wins":[{"user":"u","packet":%s,"amount":%s,"drop":"1.1"}]}`
	for _, n := range []string{"0", "00", "01", "-1", "1.0", "1e3", "", "999999999999999999", "9999999999999999999"} {
		f.Add(fmt.Appendf(nil, wins, n, "1"))
		f.Add(fmt.Appendf(nil, wins, "1", n))
	}
	for _, text := range []string{
		`{"ref":{"campaign":"c1","shard":0,"id":"1-0"},"wins":[]}`,
		`{"ref":{"campaign":"c1","shard":0,"id":"1-0"},"wins":[{"user":"u","packet":1,"amount":1,"drop":"1.1"},]}`,
		`{"ref":{"campaign":"c1","shard":0,"id":"1-0"},"wins":[{"user":"\u0061","packet":1,"amount":1,"drop":"1.1"}]} `,
		`{"ref":{"campaign":"c1","shard":0,"id":"1-0"},"wins":[{"user":"u","packet":1,"amount":1,"drop":"1.1"}]}{}`,
		"{\"ref\":{\"campaign\":\"c\xff\",\"shard\":0,\"id\":\"1-0\"}," +
			"\"wins\":[{\"user\":\"u\n\",\"packet\":1,\"amount\":1,\"drop\":\"1.1\"}]}",
		"{\"ref\":{\"campaign\":\"c1\",\"shard\":0,\"id\":\"1-0\"}," +
			"\"wins\":[{\"user\":\"u\n\",\"packet\":1,\"amount\":1,\"drop\":\"1.1\"}]}",
		"{\"ref\":{\"campaign\":\"c1\",\"shard\":0,\"id\":\"1-0\"}," +
			"\"wins\":[{\"user\":\"\xff\",\"packet\":1,\"amount\":1,\"drop\":\"1.1\"}]}",
		`{`, ``, `null`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want rain.Entry
		wantErr := json.Unmarshal(data, &want)
		got, fault := Decode(data)
		switch {
		case wantErr != nil || (len(want.Wins) == 0 && want.Reclaim == nil):
			if fault == "" {
				t.Errorf("%q is taken as %+v; encoding/json: %v", data, got, wantErr)
			}
		case fault != "" || !reflect.DeepEqual(got, want):
			t.Errorf("%q: %+v %s, want %+v", data, got, fault, want)
		}
	})
}

func BenchmarkEntryText(b *testing.B) {
	e := rain.Entry{Ref: rain.EntryRef{Campaign: "c1", ID: "1763712000-0"}}
	for n := range 50 {
		e.Wins = append(e.Wins, rain.Win{User: fmt.Sprintf("player-%d", n), Packet: n, Amount: 88, Drop: "7.3"})
	}
	data, err := Encode(e)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("write 50 wins", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Encode(e); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read 50 wins", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, fault := Decode(data); fault != "" {
				b.Fatal(fault)
			}
		}
	})
}

func entry(campaign string, n int, wins ...rain.Win) rain.Entry {
	return rain.Entry{Ref: rain.EntryRef{Campaign: campaign, ID: fmt.Sprintf("%d-0", n)}, Wins: wins}
}

func win(user string, packet int, amount rain.Money) rain.Win {
	return rain.Win{User: user, Packet: packet, Amount: amount, Drop: "7.3"}
}
