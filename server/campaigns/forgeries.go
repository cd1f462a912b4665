package campaigns

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"redrain/payout/ledger/posting"
)

// forgeriesEvery is the least time between two alarms about forgeries of one campaign: who can write to NATS can send
// thousands a second.
const forgeriesEvery = 5 * time.Second

// Forgeries tells of what nobody of this installation has sealed: the first at once, and what comes after it, of the
// same campaign, together.
type Forgeries struct {
	alarm func(code, campaign, message string)

	mu sync.Mutex
	of map[string]*forgery // by campaign; "" where none is known
}

// forgery is what was heard since the last alarm.
type forgery struct {
	count  int
	reason string
}

// NewForgeries makes them. Their Run must be started.
func NewForgeries(alarm func(code, campaign, message string)) *Forgeries {
	return &Forgeries{alarm: alarm, of: map[string]*forgery{}}
}

// Heard hears of letters of what nobody has sealed, and how many more were dropped.
func (f *Forgeries) Heard(letters []posting.DeadLetter, dropped int) {
	heard := map[string]*forgery{}
	for _, d := range letters {
		heard[d.Campaign] = heard[d.Campaign].and(1, d.Reason)
	}
	if dropped > 0 {
		heard[""] = heard[""].and(dropped, "much like it waits already, so it is not kept")
	}
	f.hear(heard)
}

// Notices hears of notices between nodes that nobody has sealed. What they say of a campaign counts for nothing.
func (f *Forgeries) Notices(count int, reason string) {
	f.hear(map[string]*forgery{"": {count, reason}})
}

func (f *Forgeries) hear(heard map[string]*forgery) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, campaign := range slices.Sorted(maps.Keys(heard)) {
		if f.of[campaign] != nil {
			f.of[campaign].and(heard[campaign].count, heard[campaign].reason)
			continue
		}
		f.of[campaign] = &forgery{}
		f.tell(campaign, heard[campaign])
	}
}

func (y *forgery) and(count int, reason string) *forgery {
	if y == nil {
		y = &forgery{}
	}
	y.count += count
	y.reason = reason
	return y
}

// Run tells from time to time what has come since, until ctx ends, and the rest in the end.
func (f *Forgeries) Run(ctx context.Context) error {
	tick := time.NewTicker(forgeriesEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			f.round()
		case <-ctx.Done():
			f.round()
			return nil
		}
	}
}

func (f *Forgeries) round() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, campaign := range slices.Sorted(maps.Keys(f.of)) {
		if f.of[campaign].count == 0 {
			delete(f.of, campaign)
			continue
		}
		f.tell(campaign, f.of[campaign])
		f.of[campaign] = &forgery{}
	}
}

func (f *Forgeries) tell(campaign string, y *forgery) {
	f.alarm("forged", campaign, fmt.Sprintf("somebody who is not redrain has written to Redis or NATS: %d wins, "+
		"reclaims, messages or notices that no node of this installation has sealed (the last: %s). Nobody is paid by it. Find "+
		"out who has the passwords, change them, then run redrain seal rotate; redrain payout list has what was kept, "+
		"and redrain payout dismiss ends it", y.count, y.reason))
}
