package campaigns

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"redrain/payout/ledger"
)

const (
	// staleCampaign is after how many rounds of the schedule a proof of a campaign is too old, beside the time that it
	// takes.
	staleCampaign = 10
	// staleEverything is after how long a full reconciliation is too old, beside the time that it takes.
	staleEverything = 48 * time.Hour
	// maxStale is how many alarms one look raises. The next looks raise the others.
	maxStale = 10
)

// KeptProofs is where it is kept when the books were proved, for all nodes. [ledger.Proofs] is that.
type KeptProofs interface {
	NoteProofs(ctx context.Context, proofs []ledger.Proof) error
	LastProofs(ctx context.Context) (ledger.LastProofs, error)
	// Pending are the ids of drained campaigns of which not every row was proved since.
	Pending(ctx context.Context) ([]string, error)
}

// Proved is when the books were proved last, by whichever node.
type Proved struct {
	Everything ledger.Proof   `json:"everything"` // every row of all books
	Oldest     int64          `json:"oldest"`     // Unix ms, of the campaign that was proved the longest ago; 0: none
	Stale      bool           `json:"stale"`      // one of these is too long ago
	Campaigns  []ledger.Proof `json:"campaigns"`
}

// proofAge is how long ago the books were proved, as far as this node knows.
type proofAge struct {
	last  atomic.Pointer[Proved]
	since int64           // when this node has begun to look; 0: not yet
	said  map[string]bool // campaigns whose proof is too old, which was said; "" is everything

	everythingAt, oldestAt, everythingTook prometheus.Gauge
}

func newProofAge(reg prometheus.Registerer) *proofAge {
	gauge := func(name, help string) prometheus.Gauge {
		return promauto.With(reg).NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	return &proofAge{
		said: map[string]bool{},
		everythingAt: gauge("redrain_reconcile_everything_proved_timestamp_seconds",
			"When every row of all books was reconciled last, by whichever node. An alarm if it does not rise."),
		everythingTook: gauge("redrain_reconcile_everything_seconds",
			"How long the last reconciliation of all books took, with its pauses."),
		oldestAt: gauge("redrain_reconcile_oldest_proved_timestamp_seconds",
			"When the live campaign that was proved the longest ago was proved. An alarm where it does not rise."),
	}
}

// Proved is when the books were proved last; nil where this node has not looked yet.
func (r *Proofs) Proved() *Proved { return r.last.Load() }

// lookAtAge raises the alarm where the books were not proved for too long, on each node: the one that should prove them
// may be frozen, or may not be there at all.
func (r *Proofs) lookAtAge(ctx context.Context) error {
	now := r.o.Clock()
	if r.since == 0 {
		r.since = now // who has just started gives the others, and itself, the time to prove them
	}
	last, err := r.o.Kept.LastProofs(ctx)
	if err != nil {
		return err
	}
	live := last.Live
	is := &Proved{Everything: last.Full, Campaigns: live}
	alarms := maxStale
	is.Stale = r.o.Share > 0 && r.tooOld(now, "", last.Full, staleEverything.Milliseconds(), &alarms)
	for _, p := range live {
		if p.ProvedAt != 0 && (is.Oldest == 0 || p.ProvedAt < is.Oldest) {
			is.Oldest = p.ProvedAt
		}
		if r.tooOld(now, p.Campaign, p, staleCampaign*r.o.Every.Milliseconds(), &alarms) {
			is.Stale = true
		}
	}
	maps.DeleteFunc(r.said, func(id string, _ bool) bool {
		return id != "" && !slices.ContainsFunc(live, func(p ledger.Proof) bool { return p.Campaign == id })
	})
	r.last.Store(is)
	r.everythingAt.Set(float64(last.Full.ProvedAt) / 1000)
	r.everythingTook.Set(float64(last.Full.TookMS) / 1000)
	r.oldestAt.Set(float64(is.Oldest) / 1000)
	return nil
}

// tooOld tells whether a proof is too old, and raises the alarm once, if this look has alarms left. A proof of the
// future is not ours.
func (r *Proofs) tooOld(now int64, key string, p ledger.Proof, least int64, alarms *int) bool {
	limit := least + 3*p.TookMS
	future := p.ProvedAt > now+time.Minute.Milliseconds()
	old := future || now-max(p.ProvedAt, r.since) > limit
	switch {
	case !old:
		delete(r.said, key)
	case !r.said[key] && *alarms > 0:
		*alarms--
		r.said[key] = true
		when := "never"
		if p.ProvedAt > 0 {
			when = time.UnixMilli(p.ProvedAt).UTC().Format(time.RFC3339)
		}
		what := "all books were"
		if key != "" {
			what = "the books of the campaign were"
		}
		r.o.Log.Error("the books are not proved any more", "campaign", p.Campaign, "proved_at", p.ProvedAt)
		r.o.Bus.Alarm("reconciliation", p.Campaign, fmt.Sprintf("%s proved last at %s, which should be less than %s "+
			"ago: look whether a node with the role operator runs, and what it logs", what, when,
			time.Duration(limit)*time.Millisecond))
	}
	return old
}
