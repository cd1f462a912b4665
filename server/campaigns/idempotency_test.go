package campaigns

import (
	"errors"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/server/servertest"
)

// TestAKeyMeansOneRequest: also where the first try was cut off, and only for a day.
func TestAKeyMeansOneRequest(t *testing.T) {
	u := newUpkeep(t, testenv.Redis(t))
	key := testenv.Namespace(t)
	cut, err := u.service.fund(t.Context(), servertest.EvenSpec(1_000, 10, 1), key) // funded, and then the process died
	testenv.Must(t, err)
	testenv.WantErr(t, testenv.Err(u.service.Create(t.Context(), servertest.EvenSpec(500, 5, 1), key)),
		ledger.ErrIdempotencyUnequal, "another body")
	again, err := u.service.Create(t.Context(), servertest.EvenSpec(1_000, 10, 1), key)
	if err != nil || again.ID != cut.ID || again.Status != rain.Open {
		t.Errorf("the same body: %+v, %v", again, err)
	}
	u.wantSponsor(1_000_000_000 - 1_000)
	spec := rain.DefaultRain()
	_, first, err := u.service.StartRain(t.Context(), cut.ID, spec, key)
	testenv.Must(t, err)
	if _, same, err := u.service.StartRain(t.Context(), cut.ID, spec, key); err != nil || same.ID != first.ID {
		t.Errorf("the same rain: %+v, %v", same, err)
	}
	spec.DurationMS++
	if _, _, err := u.service.StartRain(t.Context(), cut.ID, spec, key); !errors.Is(err, ledger.ErrIdempotencyUnequal) {
		t.Errorf("another rain: %v", err)
	}
	u.now += keyKeptMS
	later, err := u.service.Create(t.Context(), servertest.EvenSpec(500, 5, 1), key)
	if err != nil || later.ID == cut.ID {
		t.Errorf("a day later: %+v, %v", later, err)
	}
}
