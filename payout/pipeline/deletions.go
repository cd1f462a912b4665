package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"redrain/rain"
)

// Deletions notices that messages are gone from the stream, other than by age. That costs nobody anything: an entry
// stays in its outbox until it is in the ledger, and is published again. But nothing of redrain deletes a message.
type Deletions struct {
	stream *stream
	clock  rain.Clock
	was    *jetstream.StreamInfo // at the last look; nil: not known
}

// NewDeletions makes them. clock is compared with the times of messages.
func NewDeletions(js jetstream.JetStream, namespace string, clock rain.Clock) *Deletions {
	return &Deletions{stream: newStream(js, namespace, nil), clock: clock}
}

// Deleted is what is gone from the stream since the look before.
type Deleted struct {
	What string // in words, "" where nothing is gone
	Lost bool   // the servers have lost the stream, or its newest messages: somebody may have deleted it, too
}

// Look tells what is gone since the last look. After Forget, and at first, it only notes what there is.
func (d *Deletions) Look(ctx context.Context) (gone Deleted, err error) {
	if err := d.stream.connected(); err != nil {
		return gone, err
	}
	ctx, cancel := context.WithTimeout(ctx, manageDeadline)
	defer cancel()
	was := d.was
	found, err := d.stream.js.Stream(ctx, d.stream.name())
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		d.was = nil
		if was != nil && was.State.Msgs > 0 {
			gone = Deleted{fmt.Sprintf("the stream %s is gone, with %d messages", d.stream.name(), was.State.Msgs),
				true}
		}
		return gone, nil
	case err != nil:
		return gone, err
	}
	d.was = found.CachedInfo()
	if was != nil {
		gone = d.compare(&was.State, &d.was.State, !was.Created.Equal(d.was.Created))
	}
	return gone, nil
}

func (d *Deletions) compare(was, is *jetstream.StreamState, another bool) Deleted {
	name := d.stream.name()
	switch {
	case another && was.Msgs > 0:
		return Deleted{fmt.Sprintf("the stream %s was made anew, without the %d messages that it had", name,
			was.Msgs), true}
	case another:
		return Deleted{}
	case is.LastSeq < was.LastSeq:
		return Deleted{fmt.Sprintf("the stream %s has lost its messages %d to %d", name, is.LastSeq+1, was.LastSeq),
			true}
	}
	count := missing(is) - missing(was)
	if oldest := was.FirstTime.Add(streamMaxAge); was.Msgs > 0 && d.clock() >= oldest.Add(-time.Minute).UnixMilli() {
		count = max(holes(is), holes(was)) - holes(was) // the others may have gone by age
	}
	if count == 0 {
		return Deleted{}
	}
	return Deleted{What: fmt.Sprintf("%d messages were deleted from the stream %s, which has %d of its messages %d "+
		"to %d",
		count, name, is.Msgs, is.FirstSeq, is.LastSeq)}
}

// missing is how many messages the stream has had and has no more.
func missing(s *jetstream.StreamState) uint64 { return s.LastSeq - s.Msgs }

// holes is how many of them are not the oldest ones.
func holes(s *jetstream.StreamState) uint64 {
	if s.Msgs == 0 {
		return 0
	}
	return s.LastSeq + 1 - s.FirstSeq - s.Msgs
}

// Forget forgets what there was.
func (d *Deletions) Forget() { d.was = nil }
