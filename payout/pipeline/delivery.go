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

// decode verifies and reads the entry in a message.
func (s *stream) decode(m jetstream.Msg) (rain.Entry, error) { return s.open(m.Data(), m.Subject()) }

// open is decode for the data of a message on a subject.
func (s *stream) open(data []byte, subject string) (rain.Entry, error) {
	e, err := payout.OpenMessage(s.seals, data)
	if err != nil {
		return e, err
	}
	if _, _, err := e.Ref.Position(); err != nil {
		return e, err
	}
	if want := s.subject(e.Ref); subject != want {
		return e, fmt.Errorf("message on subject %q: its entry belongs on %q", subject, want)
	}
	return e, nil
}

// deliveries counts the deliveries of the message, including this one.
func (d delivery) deliveries() int {
	meta, err := d.msg.Metadata()
	if err != nil {
		return 1
	}
	return int(min(meta.NumDelivered, 1<<30))
}

// nack returns messages to JetStream, which delivers them again after a delay. If the connection loses the nack, they
// come again after ackWait.
func nack(after time.Duration, group ...delivery) {
	for _, d := range group {
		_ = d.msg.NakWithDelay(after)
	}
}

// longestRetry is the longest delay of a redelivery.
const longestRetry = 15 * time.Second

// retryDelay returns the delay of the next delivery after a number of tries, from 1.
func retryDelay(tries int) time.Duration {
	return loop.Backoff(500*time.Millisecond, longestRetry, tries-1)
}

// ripeTogether: young wins within this span wait together, so the oldest waits this much longer.
const ripeTogether = 250 * time.Millisecond

// ripening returns the first deliveries that are to be posted together, and the wait until each of their wins has the
// least age. Messages come roughly in the order of their wins. A redelivered one is older.
func ripening(of []delivery, now int64, least time.Duration) (batch []delivery, wait time.Duration) {
	if least <= 0 {
		return of, 0
	}
	ripe := now - least.Milliseconds() // wins from before this time are old enough
	youngest := max(of[0].wonAt(now), ripe)
	until := youngest + ripeTogether.Milliseconds()
	n := 1
	for ; n < len(of) && of[n].wonAt(now) <= until; n++ {
		youngest = max(youngest, of[n].wonAt(now))
	}
	return of[:n], time.Duration(youngest-ripe) * time.Millisecond
}

// wonAt returns the time of an entry's wins, Unix ms, and 0 for a reclaim.
//
// If the clock of a Redis was ahead for a while (see [Relay]), the id's time can be in the future. Then the time of
// the seal counts, and at most now.
func (d *delivery) wonAt(now int64) int64 {
	if len(d.entry.Wins) == 0 {
		return 0
	}
	at, _, _ := d.entry.Ref.Position() // decode has checked it
	if at > now {
		at = min(d.entry.SealedAt, now)
	}
	return at
}
