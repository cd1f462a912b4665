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
