package confirm

import (
	"time"

	"redrain/rain"
)

// ErrNoReplica is for the tests outside the package.
var ErrNoReplica = errNoReplica

// LoseSuperseded makes a superseded master count as lost as soon as no node sees the holder.
func (c *Confirmer) LoseSuperseded() { c.epochs.patience = func(rain.Epoch) time.Duration { return 0 } }
