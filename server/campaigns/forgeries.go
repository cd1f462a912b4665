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
	"redrain/server/cluster"
)

// forgeriesEvery is the least time between two alarms about forgeries or dead letters of one campaign. A client with
// access to NATS or Redis can cause thousands a second.
const forgeriesEvery = 5 * time.Second

// Forgeries raises alarms about messages without a valid seal, and about payouts that wait for a person. It raises the
// first at once, and one for all further ones of the same campaign.
type Forgeries struct {
	alarm     func(code, campaign, message string)
	recoverer *loop.Recoverer

	mu sync.Mutex
	of map[alarmed]*forgery
}

// alarmed is the subject of an alarm.
type alarmed struct {
	code     string
	campaign string // "" if unknown
}

// forgery counts the messages since the last alarm.
type forgery struct {
	count  int
	reason string    // of the last message
	told   time.Time // time of the last alarm
}

// NewForgeries returns Forgeries without messages. Their Run must be started. With a nil recoverer, panics are logged
// only.
func NewForgeries(alarm func(code, campaign, message string), recoverer *loop.Recoverer) *Forgeries {
	return &Forgeries{alarm: alarm, recoverer: recoverer, of: map[alarmed]*forgery{}}
}

// Heard takes dead letters of messages without a valid seal, and the number of further dropped ones.
func (f *Forgeries) Heard(letters []posting.DeadLetter, dropped int) {
	f.count(codeForged, letters, dropped, "many messages like it are kept already, so it is dropped")
}

// Waiting takes dead letters of payouts that wait for a person.
func (f *Forgeries) Waiting(letters []posting.DeadLetter) { f.count(codeDeadLetter, letters, 0, "") }

// Notices takes notices between nodes without a valid seal. It ignores the campaigns that they name.
func (f *Forgeries) Notices(count int, reason string) { f.count(codeForged, nil, count, reason) }

const (
	codeForged     = "forged"
	codeDeadLetter = "dead_letter"
)

// count counts dead letters, and other messages without a campaign.
func (f *Forgeries) count(code string, letters []posting.DeadLetter, others int, reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	add := func(campaign string, n int, reason string) {
		about := alarmed{code, campaign}
		if f.of[about] == nil {
			f.of[about] = &forgery{}
		}
		f.of[about].count += n
		f.of[about].reason = reason
	}
	for _, d := range letters {
		add(d.Campaign, 1, d.Reason)
	}
	if others > 0 {
		add("", others, reason)
	}
	f.raise(forgeriesEvery)
}

// Run raises waiting alarms periodically until ctx ends, and then the rest.
func (f *Forgeries) Run(ctx context.Context) error {
	err := loop.Run(ctx, loop.Spec{Part: "forgeries", Every: forgeriesEvery, Recoverer: f.recoverer,
		Do: loop.Plain(func(context.Context) { f.raiseAll(forgeriesEvery) })})
	f.raiseAll(0)
	return err
}

func (f *Forgeries) raiseAll(since time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.raise(since)
}

// raise raises the alarms whose last one is older than since. It needs the lock.
func (f *Forgeries) raise(since time.Duration) {
	for _, about := range slices.SortedFunc(maps.Keys(f.of), func(a, b alarmed) int {
		return cmp.Or(strings.Compare(a.code, b.code), strings.Compare(a.campaign, b.campaign))
	}) {
		switch one := f.of[about]; {
		case time.Since(one.told) < since:
		case one.count == 0:
			delete(f.of, about)
		default:
			f.alarm(about.code, about.campaign, one.message(about.code))
			*one = forgery{told: time.Now()}
		}
	}
}

func (y *forgery) message(code string) string {
	switch {
	case code == codeDeadLetter && y.count == 1:
		return "a payout waits for a person, see redrain payout list: " + y.reason
	case code == codeDeadLetter:
		return fmt.Sprintf("%d payouts wait for a person, see redrain payout list. The last: %s", y.count, y.reason)
	}
	return fmt.Sprintf("another program has written to Redis or NATS: %d wins, reclaims, messages or "+
		"notices that no node of this installation has sealed, or copies of sealed ones (the last: %s). "+
		"No player is paid by it. Find out who has the passwords, change them, then run redrain seal rotate; "+
		"redrain payout list shows the kept ones, and redrain payout dismiss ends it", y.count, y.reason)
}

// AlarmVoid raises the alarm that wins came too late to be paid. Their players may have been notified, except with
// --confirm stream.
func AlarmVoid(bus *cluster.Bus, letters []posting.DeadLetter) {
	claims := map[string][]string{}
	for _, d := range letters {
		if d.User != "" { // a reclaim has no player, and its packets are in stock again
			claims[d.Campaign] = append(claims[d.Campaign], d.Claim)
		}
	}
	for campaign, list := range claims {
		bus.Alarm("void_win", campaign, fmt.Sprintf(
			"%d wins from before redis lost the campaign came too late to be paid; "+
				"their players may have been notified, unless --confirm is stream: %s",
			len(list),
			strings.Join(list, " "),
		))
	}
}
