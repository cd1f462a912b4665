package outcome

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
)

func TestAnOutcomeIsItsNameInJSON(t *testing.T) {
	counts := Counts{}
	for _, o := range All() {
		counts[o] = int64(o)
	}
	if len(counts) != Count {
		t.Fatalf("%d outcomes, %d in all", len(counts), Count)
	}
	text, err := json.Marshal(counts)
	const want = `{"already":2,"empty":6,"late":7,"limited":5,"not_open":4,"sold_out":3,"too_fast":9,"unavailable":0,` +
		`"unknown_drop":8,"won":1}`
	if err != nil || string(text) != want {
		t.Errorf("%s (%v), want %s", text, err, want)
	}
	var read Counts
	if err := json.Unmarshal(text, &read); err != nil || !maps.Equal(read, counts) {
		t.Errorf("read as %v (%v)", read, err)
	}
	// Unknown outcomes of another version are skipped. A value that is no number is an error.
	if err := json.Unmarshal([]byte(`{"won":3,"Won":1,"":1,"shared":4}`), &read); err != nil ||
		!maps.Equal(read, Counts{Won: 3}) {
		t.Errorf("unknown names: %v (%v)", read, err)
	}
	if err := json.Unmarshal([]byte(`{"won":"3"}`), &read); err == nil {
		t.Errorf("a count that is none was read as %v", read)
	}
}

func TestUnavailableIsNotDecided(t *testing.T) {
	if got := Decided(); len(got) != Count-1 || got[0] != Won || slices.Contains(got, Unavailable) {
		t.Errorf("%v", got)
	}
}

func TestTheZeroValueIsUnavailable(t *testing.T) {
	if r := (Result{}); r.Outcome.String() != "unavailable" {
		t.Errorf("the zero value is %v", r.Outcome)
	}
}
