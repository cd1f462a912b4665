package outcome

import (
	"encoding/json"
	"maps"
	"testing"
)

func TestAnOutcomeIsItsNameInJSON(t *testing.T) {
	counts := map[Outcome]int{}
	for _, o := range All() {
		counts[o] = int(o)
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
	var read map[Outcome]int
	if err := json.Unmarshal(text, &read); err != nil || !maps.Equal(read, counts) {
		t.Errorf("read as %v (%v)", read, err)
	}
	for _, bad := range []string{`"Won"`, `""`, `"win"`} {
		var o Outcome
		if err := json.Unmarshal([]byte(bad), &o); err == nil {
			t.Errorf("%s was read as %v", bad, o)
		}
	}
}

func TestTheZeroValueIsUnavailable(t *testing.T) {
	if r := (Result{}); r.Outcome.String() != "unavailable" {
		t.Errorf("the zero value is %v", r.Outcome)
	}
}
