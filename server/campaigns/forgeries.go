package campaigns

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"redrain/internal/loop"
	"redrain/payout/ledger/posting"
)

// forgeriesEvery is the least time between two alarms about forgeries of one campaign, or about its dead letters:
// who can write to NATS or Redis can cause thousands a second.
const forgeriesEvery = 5 * time.Second

// Forgeries tells of what nobody of this installation has sealed, and of payouts that wait for a person: the first at
// once, and what comes after it, of the same campaign, together.
type Forgeries struct {
	alarm     func(code, campaign, message string)
	recoverer *loop.Recoverer

	mu sync.Mutex
	of map[alarmed]*forgery
}

// alarmed is what an alarm is about.
type alarmed struct {
	code     string
	campaign string // "" where none is known
}

// forgery is what was heard since the last alarm.
type forgery struct {
	count  int
	reason string
}

// NewForgeries makes them. Their Run must be started. A nil recoverer only logs panics.
func NewForgeries(alarm func(code, campaign, message string), recoverer *loop.Recoverer) *Forgeries {
	return &Forgeries{alarm: alarm, recoverer: recoverer, of: map[alarmed]*forgery{}}
}

// Heard hears of letters of what nobody has sealed, and how many more were dropped.
func (f *Forgeries) Heard(letters []posting.DeadLetter, dropped int) {
	f.heard(codeForged, letters, dropped)
}

// Waiting hears of letters of payouts that wait for a person.
func (f *Forgeries) Waiting(letters []posting.DeadLetter) { f.heard(codeDeadLetter, letters, 0) }

const (
	codeForged     = "forged"
	codeDeadLetter = "dead_letter"
)

func (f *Forgeries) heard(code string, letters []posting.DeadLetter, dropped int) {
	heard := map[string]*forgery{}
	for _, d := range letters {
		heard[d.Campaign] = heard[d.Campaign].and(1, d.Reason)
	}
	if dropped > 0 {
		heard[""] = heard[""].and(dropped, "much like it waits already, so it is not kept")
	}
	f.hear(code, heard)
}

// Notices hears of notices between nodes that nobody has sealed. What they say of a campaign counts for nothing.
func (f *Forgeries) Notices(count int, reason string) {
	f.hear(codeForged, map[string]*forgery{"": {count, reason}})
}

func (f *Forgeries) hear(code string, heard map[string]*forgery) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, campaign := range slices.Sorted(maps.Keys(heard)) {
		about := alarmed{code, campaign}
		if f.of[about] != nil {
			f.of[about].and(heard[campaign].count, heard[campaign].reason)
			continue
		}
		f.of[about] = &forgery{}
		f.tell(about, heard[campaign])
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
	err := loop.Run(ctx, loop.Spec{Part: "forgeries", Every: forgeriesEvery, Recoverer: f.recoverer,
		Do: loop.Plain(func(context.Context) { f.round() })})
	f.round()
	return err
}

func (f *Forgeries) round() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, about := range slices.SortedFunc(maps.Keys(f.of), func(a, b alarmed) int {
		return cmp.Or(strings.Compare(a.code, b.code), strings.Compare(a.campaign, b.campaign))
	}) {
		if f.of[about].count == 0 {
			delete(f.of, about)
			continue
		}
		f.tell(about, f.of[about])
		f.of[about] = &forgery{}
	}
}

func (f *Forgeries) tell(about alarmed, y *forgery) {
	message := fmt.Sprintf("somebody who is not redrain has written to Redis or NATS: %d wins, reclaims, messages or "+
		"notices that no node of this installation has sealed, or that repeat what was sealed once (the last: %s). "+
		"Nobody is paid by it. Find "+
		"out who has the passwords, change them, then run redrain seal rotate; redrain payout list has what was kept, "+
		"and redrain payout dismiss ends it", y.count, y.reason)
	switch {
	case about.code == codeDeadLetter && y.count == 1:
		message = "a payout waits for a person, see redrain payout list: " + y.reason
	case about.code == codeDeadLetter:
		message = fmt.Sprintf("%d payouts wait for a person, see redrain payout list. The last: %s", y.count, y.reason)
	}
	f.alarm(about.code, about.campaign, message)
}
