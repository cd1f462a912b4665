package api

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"redrain/rain"
)

// TestReadBodyLimits: a player's requests are small, so that many at once cannot fill the memory.
func TestReadBodyLimits(t *testing.T) {
	for name, c := range map[string]struct {
		who   caller
		limit int64
	}{
		"an operator": {caller{role: "operator"}, maxBody},
		"a player":    {caller{role: "player", user: "u"}, 4 << 10},
		"anyone":      {caller{}, 4 << 10},
	} {
		for _, over := range []int64{0, 1} {
			q, _ := by(c.who, httptest.NewRequest(http.MethodPost, "/", io.LimitReader(zeros{}, c.limit+over)))
			_, err := q.readBody()
			var p *problemError
			if tooLarge := errors.As(err, &p) && p.Status == http.StatusRequestEntityTooLarge; tooLarge != (over == 1) {
				t.Errorf("%s, %d bytes over the limit: %v", name, over, err)
			}
		}
	}
}

// TestDecodeNamesTheField: a fault has the field's name in JSON, without the names of Go's embedded structs.
func TestDecodeNamesTheField(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"beat_ms":"1"}`:             "beat_ms: is not an integer in range",
		`{"starts_in_ms":true}`:       "starts_in_ms: is not an integer in range",
		`{"pacing":1}`:                "pacing: is not a string",
		`{"beat":1}`:                  "beat: is not a field of this request",
		`{"Settings":{}}`:             "Settings: is not a field of this request",
		`{"Pacing":"even"}`:           "Pacing: is not a field of this request",
		`{"odds":1,"odds":2}`:         "odds: is there twice",
		`{"pacing":"` + "\xff" + `"}`: "the body is not one JSON value in UTF-8",
		`{"beat_ms":1}{}`:             "the body is not one JSON value in UTF-8",
		`[1]`:                         "the body is not a JSON object",
		`{"beat_ms":null}`:            "<nil>",
	} {
		if err := decode([]byte(body), new(rain.DefaultRain())); fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
	if err := decode([]byte(`{"players":{"list":[]}}`), new(rain.DefaultSpec())); fmt.Sprint(err) !=
		"players.list: is not a string" {
		t.Error(err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// FuzzBodies: no body panics the decoder or the validation, and a campaign that is accepted can be split to its budget.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `[]`, `{"name":"Gala","sponsor":"acme","budget":1000000,"packets":5000}`,
		`{"name":"x","sponsor":"a","budget":3,"packets":2,"split":"list","amounts":[1,2]}`,
		`{"name":"x","sponsor":"a","budget":100,"packets":10,"max":10,"min":10,"split":"even"}`,
		`{"name":"x","sponsor":"a","budget":9223372036854775807,"packets":10000000}`,
		`{"budget":1e999}`, `{"min":null,"max":null,"amounts":null}`, `{"starts_in_ms":0,"starts_at":1}`,
		`{"a":1}{"b":2}`, "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		drops := rain.DefaultRain()
		if decode(body, &drops) == nil {
			_ = drops.Validate(0)
		}
		spec := rain.DefaultSpec()
		if decode(body, &spec) != nil || spec.Validate() != nil || spec.Packets > 10_000 {
			return
		}
		split := spec.SplitSpec()
		amounts, err := split.Cut(rain.Seed{})
		if err != nil {
			t.Fatalf("%s is valid but cannot be split: %v", body, err)
		}
		if total, err := rain.Sum(amounts); err != nil || total != spec.Budget {
			t.Fatalf("%s splits to %d (%v)", body, total, err)
		}
	})
}
