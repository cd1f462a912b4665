package wire

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"redrain/internal/testenv"
	"redrain/rain"
)

var taps = []string{
	`{"type":"tap","id":3,"drop":"7.3"}`,
	` { "drop" : "7.3" , "type" : "tap" } `,
	`{"id":"a-b","type":"tap","drop":"123456.78"}`,
	"{\"type\":\"tap\",\n\"drop\":\"1.0\"}",
	`{"type":"tap","id":0,"drop":"0.0"}`,
	"\t{\r\n\"type\": \"tap\", \"id\": 19, \"drop\": \"10.1\"}\t\r\n ",
	`{"type":"tap","id": "a b~","drop":"7.3"}`,
	`{"type":"tap","id":"` + strings.Repeat("1", MaxID) + `","drop":"7.3"}`,
	`{"type":"tap","id":` + strings.Repeat("1", MaxID) + `,"drop":"7.3"}`,
}

func TestPlainTapsAreReadWithoutReflection(t *testing.T) {
	for _, text := range taps {
		tap, ok := ParseTap([]byte(text))
		r, err := ParseRequest([]byte(text))
		if !ok || err != nil || string(tap.ID) != string(r.ID) || tap.Drop.String() != r.Drop {
			t.Errorf("%s: %q %v %v, want %q %q (%v)", text, tap.ID, tap.Drop, ok, r.ID, r.Drop, err)
		}
	}
	data := []byte(taps[0])
	testenv.Equal(t, testing.AllocsPerRun(100, func() { ParseTap(data) }), 0, "allocations")
}

// TestCutTapsAreLeftAlone cuts taps off at each byte. The slices have no spare capacity, so that reading beyond the end
// of a message panics.
func TestCutTapsAreLeftAlone(t *testing.T) {
	for _, text := range taps {
		whole := []byte(strings.TrimRight(text, " \t\r\n"))
		for n := range whole {
			if tap, ok := ParseTap(slices.Clip(whole[:n])); ok {
				t.Errorf("%s was read as %q %v", whole[:n], tap.ID, tap.Drop)
			}
		}
	}
}

// TestOtherSpellingsAreLeftAlone: ParseTap leaves them to ParseRequest, which reads all JSON.
func TestOtherSpellingsAreLeftAlone(t *testing.T) {
	for _, text := range []string{
		``, `{}`, `{`, `{"type"`, `{"type":`, `{"type":"tap"}`, `{"type":"tap","drop":"1.1"`,
		`{"type":"tap","drop":"1.1",}`, `{,"type":"tap","drop":"1.1"}`,
		`{"type":"tap" "drop":"1.1"}`, `{"type":"tap","drop":"1.1"}x`, `{"type":"tap","drop":"1.1"}{}`, `["type"]`,
		`{"type":"ping","drop":"1.1"}`, `{"type":"","drop":"1.1"}`, `{"type":"taps","drop":"1.1"}`,
		`{"drop":"1.1"}`, `{"id":1,"drop":"1.1"}`,
		`{"type":"tap","x":"1.1"}`, `{"type":"tap","id":1,"Drop":"1.1"}`, `{"type":"tap","":"1.1"}`,
		`{"type":"tap","drop":"1.1","drops":"1.2"}`, `{"type":"tap","drops":"1.1","id":1}`,
		`{"type":"tap","drop":"1.1","drop":"1.2"}`, `{"type":"tap","type":"tap","drop":"1.1"}`,
		`{"type":"tap","id":1,"id":2,"drop":"1.1"}`,
		`{"type":"tap","id":1.5,"drop":"1.1"}`, `{"type":"tap","id":1e3,"drop":"1.1"}`,
		`{"type":"tap","id":01,"drop":"1.1"}`, `{"type":"tap","id":-1,"drop":"1.1"}`,
		`{"type":"tap","id":null,"drop":"1.1"}`, `{"type":"tap","id":,"drop":"1.1"}`, `{"type":"tap","drop":7}`,
		`{"type":"tap","drop":"\u0031.1"}`, `{"type":"tap","drop":"é"}`,
		`{"type":"tap","id":"<b>","drop":"1.1"}`, `{"Type":"tap","drop":"1.1"}`, `{"type":"tap","drop":"1.1","t":1}`,
		`{"drop":"1.1"}`, `"type":"tap","drop":"1.1"}`, `{"type""tap","drop""1.1"}`, `{"type":tap","drop":"1.1"}`,
		`{"type":"tap","x":"1.1"}`, `{"type":"tap","drop":"1.1","x":}`, `{"type":"tap","drop":,"drop":"1.1"}`,
		"{\"type\":\"tap\",\"id\":\",\t\"drop\":\"1.1\"}", `{"type":"tap","drop":"1.1","id":"}`,
		`{"type":"tap","drop":"1.1","id":1`, "{\"type\":\"tap\",\"id\":\"\x1f\",\"drop\":\"1.1\"}",
		"{\"type\":\"tap\",\"id\":\"\x7f\",\"drop\":\"1.1\"}",
		`{"type":"tap","id":"<","drop":"1.1"}`, `{"type":"tap","id":">","drop":"1.1"}`,
		`{"type":"tap","id":"&","drop":"1.1"}`,
		`{"type":"tap","drop":""}`, `{"type":"tap","drop":"x"}`, `{"type":"tap","drop":"07.3"}`,
		`{"type":"tap","drop":" 7.3"}`, `{"type":"tap","drop":"7"}`,
		`{"type":"tap","id":"` + strings.Repeat("1", MaxID+1) + `","drop":"1.1"}`,
		`{"type":"tap","id":11111111111111111111111111111111111111111111111111111111111111111,"drop":"1.1"}`,
		`{"type":"tap","id":"11111111111111111111111111111111111111111111111111111111111111111","drop":"1.1"}`,
	} {
		if tap, ok := ParseTap([]byte(text)); ok {
			t.Errorf("%s was read as %q %v", text, tap.ID, tap.Drop)
		}
	}
}

// FuzzParseTap: encoding/json reads the same tap from each accepted input.
func FuzzParseTap(f *testing.F) {
	for _, text := range taps {
		f.Add([]byte(text))
	}
	for _, text := range []string{
		`{"type":"tap","id":"\"","drop":"1.1"}`, `{"id":1`, `{"id":"`, `{"drop":"1.1"}`, `{"type":"tap","x":"1.1"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tap, ok := ParseTap(slices.Clip(data)) // without spare capacity, so that reading beyond the end panics
		if !ok {
			return
		}
		r, err := ParseRequest(data)
		if err != nil || r.Type != TypeTap || string(r.ID) != string(tap.ID) || r.Drop != tap.Drop.String() ||
			r.Token+r.Campaign != "" || r.T != 0 {
			t.Errorf("%q: read %q %v, encoding/json says %+v, %v", data, tap.ID, tap.Drop, r, err)
		}
	})
}

func TestResultsAreWrittenAsEncodeWould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := TapResult{
			ID:      []byte(rapid.SampledFrom([]string{"", "0", "17", `"a"`, `"x y"`}).Draw(t, "id")),
			Drop:    rain.DropID{N: rapid.Int64Range(0, 1<<50).Draw(t, "n"), K: rapid.IntRange(0, 99).Draw(t, "k")},
			Outcome: rapid.SampledFrom([]string{"won", "sold_out"}).Draw(t, "outcome"),
		}
		want := Result{Type: TypeResult, ID: ID(r.ID), Drop: r.Drop.String(), Outcome: r.Outcome}
		if r.Outcome == "won" {
			r.Campaign, r.Packet = "c1", rapid.IntRange(0, rain.MaxPackets).Draw(t, "packet")
			r.Amount = rain.Money(rapid.Int64Range(1, int64(rain.MaxBudget)).Draw(t, "amount"))
			r.Luck = rapid.IntRange(0, 99).Draw(t, "luck")
			want.Luck = r.Luck
			want.Amount, want.Packet, want.Claim = r.Amount, strconv.Itoa(r.Packet), rain.ClaimID(r.Campaign, r.Packet)
		}
		if got := string(r.Append(nil)); got != string(Encode(want)) {
			t.Fatalf("%s\nwant %s", got, Encode(want))
		}
	})
}
