package campaigns

import (
	"context"
	"time"

	"redrain/rain"
)

const (
	// reclaimedWithin is how long an operator who closes a campaign waits for the ledger: where everything runs it has
	// all in some hundredths of a second. What holds it up longer, an outage or wins by the thousands, holds up nobody.
	reclaimedWithin = 2 * time.Second
	// The ledger is asked again after these pauses, doubled each time.
	firstLook, lastLook = 5 * time.Millisecond, 100 * time.Millisecond
)

// CloseAndReclaim is Close for who looks at the sponsor's account next: it answers when the ledger has what is left
// back there, or after reclaimedWithin.
func (s *Service) CloseAndReclaim(ctx context.Context, id string) (*rain.Campaign, error) {
	c, err := s.Close(ctx, id)
	if err != nil {
		return c, err
	}
	wait, cancel := context.WithTimeout(ctx, reclaimedWithin)
	defer cancel()
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		// An error ends the wait, and not the command: it stands.
		if cleared, err := s.o.Ledger.Cleared(wait, c.ID); cleared || err != nil {
			return c, nil
		}
		select {
		case <-wait.Done():
			return c, nil
		case <-time.After(pause):
		}
	}
}
