package bench

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redrain/internal/wire"
	"redrain/rain"
)

// fixtures are the protocol's examples.
func fixtures(tb testing.TB) map[string][]byte {
	tb.Helper()
	files, err := filepath.Glob("../wire/testdata/*.json")
	if err != nil || len(files) == 0 {
		tb.Fatal("no fixtures", err)
	}
	all := map[string][]byte{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			tb.Fatal(err)
		}
		var m json.RawMessage
		if err := json.Unmarshal(data, &m); err != nil {
			tb.Fatal(err)
		}
		all[filepath.Base(f)] = m
	}
	return all
}

// The scanner must know the server's own spelling, or each message would take the slow way and nobody would notice.
func TestScanTheServersSpelling(t *testing.T) {
	for name, line := range fixtures(t) {
		var head struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(line, &head); err != nil {
			t.Fatal(err)
		}
		if got := scanType(line); got != head.Type {
			t.Errorf("%s: type %q", name, got)
		}
	}
	for _, r := range []wire.Result{
		{ID: "3", Drop: "7.1", Outcome: "won", Amount: 88, Packet: "17", Claim: "c1-17"},
		{ID: "0", Drop: "0.0", Outcome: "sold_out"},
	} {
		r.Type = wire.TypeResult
		got, ok := scanResult(wire.Encode(r))
		if !ok || string(got.drop) != r.Drop || string(got.outcome) != r.Outcome || got.amount != r.Amount ||
			string(got.claim) != r.Claim {
			t.Errorf("%s: %+v, %v", wire.Encode(r), got, ok)
		}
	}
	for _, drops := range [][]rain.Drop{nil, {{K: 0, X: 690, FallMS: 3788}},
		{{K: 0, X: 1, FallMS: 2}, {K: 1, X: 1000, Kind: rain.Decoy, FallMS: 20_000}}} {
		m := wire.WaveOf("r1", rain.Wave{N: 7, At: 1_763_712_004_750, Drops: drops})
		got, ok := scanWave(wire.Encode(m))
		if diff := cmp.Diff(m, got); !ok || diff != "" {
			t.Errorf("%s: %v %s", wire.Encode(m), ok, diff)
		}
		if n, ok := scanWaveNumber(wire.Encode(m)); n != 7 || !ok {
			t.Errorf("number %d, %v", n, ok)
		}
	}
}

// Any other spelling of the same message gives the same.
func TestReadOtherSpellings(t *testing.T) {
	want := result{id: 3, drop: []byte("7.1"), outcome: []byte("won"), amount: 88, claim: []byte("c1-17")}
	for _, line := range []string{
		`{"type":"result","id":3,"drop":"7.1","outcome":"won","amount":88,"packet":"17","claim":"c1-17"}`,
		`{ "type": "result", "id": 3, "drop": "7.1", "outcome": "won", ` +
			`"amount": 88, "packet": "17", "claim": "c1-17" }`,
		`{"type":"result","id":3,"drop":"7\u002e1","outcome":"won",` +
			`"amount":88,"packet":"17","claim":"c1-17"}`,
		`{"outcome":"won","later":[1,{"a":2}],"claim":"c1-17","amount":88,"id":3,"drop":"7.1","type":"result"}`,
		`{"type":"result","id":3,"drop":"7\u002e1","outcome":"won",` +
			`"amount":88,"packet":"17","claim":"c1-17","new":"field"}`,
	} {
		got, ok := readResult([]byte(line))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); !ok || diff != "" {
			t.Errorf("%s: %v %s", line, ok, diff)
		}
	}
	for _, line := range []string{"", "{", `{"type":"result","id":"three","drop":"7.1","outcome":"won"}`,
		`{"type":"result","id":1`, `[]`} {
		if got, ok := readResult([]byte(line)); ok {
			t.Errorf("%q is read as %+v", line, got)
		}
	}
	w, ok := readWave([]byte(`{"drops":[[0,1,0,2]], "at":5, "n":4, "rain":"r\u0031", "type":"wave"}`))
	if diff := cmp.Diff(wire.Wave{Type: "wave", Rain: "r1", N: 4, At: 5, Drops: [][4]int{{0, 1, 0, 2}}}, w); !ok ||
		diff != "" {
		t.Errorf("%v %s", ok, diff)
	}
	if got := scanType([]byte(`{"later":1,"type":"room"}`)); got != wire.TypeRoom {
		t.Errorf("type %q", got)
	}
}

// FuzzScan: what the scanner reads, encoding/json reads too, and the same.
func FuzzScan(f *testing.F) {
	for _, line := range fixtures(f) {
		f.Add(line)
	}
	f.Add([]byte(`{"type":"wave","rain":"","n":0,"at":0,"drops":[]}`))
	f.Add([]byte(`{"type":"result","id":007,"drop":"7.1","outcome":"won"}`))
	f.Add([]byte(`{"type":"wave","rain":"r","n":1,"at":2,"drops":[[1,2,3,4],]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if r, ok := scanResult(line); ok {
			var m wire.Result
			if err := json.Unmarshal(line, &m); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			slow, ok := readResult(append([]byte(" "), line...)) // the space sends it the slow way
			if diff := cmp.Diff(slow, r, cmp.AllowUnexported(result{}), cmp.Comparer(bytes.Equal)); !ok || diff != "" {
				t.Fatalf("%q: %v %s", line, ok, diff)
			}
		}
		if w, ok := scanWave(line); ok {
			var m wire.Wave
			if err := json.Unmarshal(line, &m); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if diff := cmp.Diff(m, w); diff != "" {
				t.Fatalf("%q: %s", line, diff)
			}
		}
	})
}

func BenchmarkScan(b *testing.B) {
	won := fixtures(b)["result_won.json"]
	many := wire.Wave{Type: wire.TypeWave, Rain: "r1", N: 7, At: 1_763_712_004_750}
	for k := range 100 {
		many.Drops = append(many.Drops, [4]int{k, 500, 0, 17_500})
	}
	again := wire.Encode(many)
	b.Run("result", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := readResult(won); !ok {
				b.Fatal("not read")
			}
		}
	})
	b.Run("wave of 100 for one more player", func(b *testing.B) {
		s := newView()
		s.wave(again)
		b.ReportAllocs()
		for b.Loop() {
			if w, fresh := s.wave(again); w == nil || fresh {
				b.Fatal("not known")
			}
		}
	})
}
