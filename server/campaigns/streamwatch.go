package campaigns

import (
	"context"
	"fmt"

	"redrain/payout/ledger/posting"
	"redrain/payout/pipeline"
)

// Deletions tells what is gone from the payout stream. [pipeline.Deletions] does.
type Deletions interface {
	Look(ctx context.Context) (pipeline.Deleted, error)
	Forget()
}

// DeletionWatch raises an alarm where messages are gone from the payout stream, and keeps a letter of those that
// somebody has deleted, so that the reconciliation names them too.
type DeletionWatch struct {
	Deletions
	Letters MessageLetters
	Alarm   func(code, campaign, message string)
}

// Look looks once.
func (w *DeletionWatch) Look(ctx context.Context) error {
	gone, err := w.Deletions.Look(ctx)
	if err != nil || gone.What == "" {
		return err
	}
	w.Alarm("stream_changed", "",
		gone.What+". What is not in the ledger is in its outbox still, and is published again; "+
			"nothing of redrain deletes messages: find out who has")
	if gone.Lost {
		return nil
	}
	if _, err := w.Letters.BuryMessage(ctx, posting.Message{Name: "stream: " + gone.What,
		Reason: gone.What}); err != nil {
		return fmt.Errorf("keeping that %s: %w", gone.What, err)
	}
	return nil
}
