package campaigns

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"redrain/rain"
)

// slowBooks have all of a campaign from a moment on, and an error if they have one.
type slowBooks struct {
	memoryLedger

	from time.Time
	err  error
}

func (b slowBooks) Cleared(context.Context, string) (bool, error) {
	return !time.Now().Before(b.from), b.err
}

// TestACloseWaitsForTheLedger until it has the remaining packets, for two seconds at most. It does not wait if the
// ledger fails or the campaign was not closed.
func TestACloseWaitsForTheLedger(t *testing.T) {
	const soon, never = 300 * time.Millisecond, time.Hour
	for name, is := range map[string]struct {
		reclaimed, least, most time.Duration
		err, away              error
	}{
		"at once":             {most: 0},
		"soon":                {reclaimed: soon, least: soon, most: soon + lastLook},
		"never":               {reclaimed: never, least: reclaimedWithin, most: reclaimedWithin},
		"the database is off": {reclaimed: never, err: errors.New("off")},
		"Redis is off":        {reclaimed: never, away: errors.New("off")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, c, _, stock := memoryService(t, slowBooks{memoryLedger{}, time.Now().Add(is.reclaimed), is.err})
				stock.away = is.away
				began := time.Now()
				closed, err := s.CloseAndReclaim(t.Context(), c.ID)
				if (err != nil) != (is.away != nil) || closed == nil || closed.Status != rain.Closed {
					t.Errorf("%+v, %v", closed, err)
				}
				if took := time.Since(began); took < is.least || took > is.most {
					t.Errorf("it took %v, want %v to %v", took, is.least, is.most)
				}
			})
		})
	}
}
