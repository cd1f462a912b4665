package pipeline

import (
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"redrain/internal/loop"
	"redrain/payout"
	"redrain/rain"
)

// delivery is one message and the entry in it.
type delivery struct {
	msg   jetstream.Msg
	entry rain.Entry
}

// decode reads the entry in a message; the error says why there is none that could be settled.
func (s *stream) decode(m jetstream.Msg) (rain.Entry, error) {
	e, err := payout.OpenMessage(s.seals, m.Data())
	if err != nil {
		return e, err
	}
	if _, _, err := e.Ref.Position(); err != nil {
		return e, err
	}
	if want := s.subject(e.Ref); m.Subject() != want {
		return e, fmt.Errorf("the message came on %q, but its entry belongs on %q", m.Subject(), want)
	}
	return e, nil
}

// deliveries is how often the message has been delivered, this time included.
func (d delivery) deliveries() int {
	meta, err := d.msg.Metadata()
	if err != nil {
		return 1
	}
	return int(min(meta.NumDelivered, 1<<30))
}

// giveBack returns messages for another try after a while. If that is lost with the connection, they come again by
// themselves.
func giveBack(after time.Duration, group ...delivery) {
	for _, d := range group {
		_ = d.msg.NakWithDelay(after)
	}
}

// longestRetry is the most that a message waits before its next delivery.
const longestRetry = 15 * time.Second

// retryDelay is how long a message waits before its next delivery. tries is how often it has been tried, from 1.
func retryDelay(tries int) time.Duration {
	return loop.Backoff(500*time.Millisecond, longestRetry, tries-1)
}

// ripeTogether is how much younger than the oldest one wins may be that are posted with it: it waits that much longer.
const ripeTogether = 250 * time.Millisecond

// ripening is what of some entries is to be posted together, and for how long it has to wait before, so that no win is
// younger than least. Messages come in the order of their wins, more or less; one that comes again is older.
func ripening(of []delivery, now int64, least time.Duration) (batch []delivery, wait time.Duration) {
	if least <= 0 {
		return of, 0
	}
	ripe := now - least.Milliseconds() // wins of before are old enough
	youngest := max(of[0].wonAt(now), ripe)
	until := youngest + ripeTogether.Milliseconds()
	n := 1
	for ; n < len(of) && of[n].wonAt(now) <= until; n++ {
		youngest = max(youngest, of[n].wonAt(now))
	}
	return of[:n], time.Duration(youngest-ripe) * time.Millisecond
}

// wonAt is when the wins of an entry were won, Unix ms. What holds none is as old as can be.
//
// Where its id is of the future, because the clock of a Redis was ahead for a while (see [Relay]), the time counts at
// which its taps were sealed. Nothing is younger than now, so all that is of the future is of one moment.
func (d *delivery) wonAt(now int64) int64 {
	if len(d.entry.Wins) == 0 {
		return 0
	}
	at, _, _ := d.entry.Ref.Position() // decoding has seen that there is one
	if at > now {
		at = min(d.entry.SealedAt, now)
	}
	return at
}
