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
	// staleCampaign is the age at which a campaign's reconciliation is too old: rounds of the schedule, beside its
	// duration.
	staleCampaign = 10
	// staleEverything is the age at which a full reconciliation is too old, beside its duration.
	staleEverything = 48 * time.Hour
	// maxStale is the number of alarms that one look raises. The next looks raise the others.
	maxStale = 10
)

// KeptProofs stores the results of reconciliations for all nodes. [ledger.Proofs] implements it.
type KeptProofs interface {
	NoteProofs(ctx context.Context, proofs []ledger.Proof) error
	LastProofs(ctx context.Context) (ledger.LastProofs, error)
	// Pending returns the ids of drained campaigns that were not reconciled by row since.
	Pending(ctx context.Context) ([]string, error)
}

// Proved holds the last reconciliations by any node.
type Proved struct {
	Everything ledger.Proof   `json:"everything"` // every row of all books
	Oldest     int64          `json:"oldest"`     // Unix ms, of the campaign reconciled the longest ago; 0: none
	Stale      bool           `json:"stale"`      // one of these is too old
	Campaigns  []ledger.Proof `json:"campaigns"`
}

// proofAge tracks the age of the last reconciliations.
type proofAge struct {
	last  atomic.Pointer[Proved]
	since int64           // time of this node's first look; 0: none yet
	said  map[string]bool // campaigns with an alarm about their age; "" is everything

	everythingAt, oldestAt, everythingTook prometheus.Gauge
}

func newProofAge(reg prometheus.Registerer) *proofAge {
	gauge := func(name, help string) prometheus.Gauge {
		return promauto.With(reg).NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	return &proofAge{
		said: map[string]bool{},
		everythingAt: gauge("redrain_reconcile_everything_proved_timestamp_seconds",
			"Time of the last full reconciliation by any node. Alert if it does not rise."),
		everythingTook: gauge("redrain_reconcile_everything_seconds",
			"Duration of the last full reconciliation, with its pauses."),
		oldestAt: gauge("redrain_reconcile_oldest_proved_timestamp_seconds",
			"Time of the oldest reconciliation of the live campaigns. Alert if it does not rise."),
	}
}

// Proved returns the last reconciliations; nil before this node's first look.
func (r *Proofs) Proved() *Proved { return r.last.Load() }

// lookAtAge raises an alarm if the last reconciliation is too old. Each node does so: the one with the lease may be
// frozen, or missing.
func (r *Proofs) lookAtAge(ctx context.Context) error {
	now := r.o.Clock()
	if r.since == 0 {
		r.since = now // after a start, leave time for a reconciliation
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

// tooOld reports whether a reconciliation is too old, and raises the alarm once, if this look has alarms left. A time
// in the future was tampered with, and counts as too old.
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
		r.o.Log.Error("the books are not reconciled any more", "campaign", p.Campaign, "proved_at", p.ProvedAt)
		r.o.Bus.Alarm("reconciliation", p.Campaign, fmt.Sprintf("%s reconciled last at %s, which should be less than "+
			"%s ago: check whether a node with the role operator runs, and its log", what, when,
			time.Duration(limit)*time.Millisecond))
	}
	return old
}
