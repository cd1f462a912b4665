package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"redrain/payout/entrytext"
	"redrain/rain"
)

// fetchSizer says how many messages a worker fetches at once: as many as make about two batches, by the mean of
// what the last messages held. With more, the other workers have nothing to do at the end of a storm, and a fetched
// message waits for its turn while the time for its acknowledgement runs.
type fetchSizer struct {
	batch int     // wins
	mean  float64 // wins in a message, lately
}

const (
	batchesAtOnce = 2
	mostBatches   = 4 * batchesAtOnce
	mostMessages  = 1000
	meanOver      = 32 // messages that the mean looks back over, more or less
)

func newFetchSizer(batch int) *fetchSizer {
	return &fetchSizer{batch: batch, mean: float64(batch) / meanOver}
}

// messages is how many to ask for.
func (p *fetchSizer) messages() int {
	return int(min(max(float64(batchesAtOnce*p.batch)/p.mean, 1), mostMessages))
}

// held notes how many wins a message held.
func (p *fetchSizer) held(wins int) {
	p.mean += (max(float64(wins), 1) - p.mean) / meanOver
}

// pull waits for a message and takes what else is there, up to most.
func (s *Settler) pull(ctx context.Context, most int) ([]jetstream.Msg, error) {
	consumer, err := s.stream.puller(ctx)
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, pullWait)
	defer cancel()
	first, err := consumer.Next(jetstream.FetchContext(waiting))
	switch {
	case errors.Is(err, nats.ErrTimeout), errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return nil, nil
	case err != nil:
		return nil, err
	}
	messages := []jetstream.Msg{first}
	if most < 2 {
		return messages, nil
	}
	rest, err := consumer.FetchNoWait(most - 1)
	if err != nil {
		return messages, nil // the next pull will say so too
	}
	for m := range rest.Messages() {
		messages = append(messages, m)
	}
	return messages, nil
}

// share returns what a worker keeps of its batches, and gives the rest back for others at once. There is a rest
// only where a storm follows a lull: the messages of the lull held little, and so the worker has asked for far more
// than it can settle while they wait.
func (s *Settler) share(groups [][]delivery) [][]delivery {
	kept := min(len(groups), mostBatches)
	for _, group := range groups[kept:] {
		s.giveBack(group, 0)
	}
	return groups[:kept]
}

// groups decodes messages and parts them in batches. What is no entry is put aside for a person.
func (s *Settler) groups(ctx context.Context, messages []jetstream.Msg, p *fetchSizer) [][]delivery {
	var groups [][]delivery
	var group []delivery
	wins := 0
	for _, m := range messages {
		e, fault := s.decode(m)
		if fault != "" {
			s.bury(ctx, m, fault)
			continue
		}
		if len(group) > 0 && wins+len(e.Wins) > s.o.BatchWins {
			groups, group, wins = append(groups, group), nil, 0
		}
		p.held(len(e.Wins))
		group = append(group, delivery{m, e})
		wins += len(e.Wins)
	}
	if len(group) > 0 {
		groups = append(groups, group)
	}
	return groups
}

// decode reads the entry in a message; fault says why there is none.
func (s *Settler) decode(m jetstream.Msg) (e rain.Entry, fault string) {
	e, fault = entrytext.Decode(m.Data())
	if fault != "" {
		return e, fault
	}
	if _, _, err := e.Ref.Position(); err != nil {
		return e, err.Error()
	}
	if want := s.stream.subject(e.Ref); m.Subject() != want {
		return e, fmt.Sprintf("the message came on %q, but its entry belongs on %q", m.Subject(), want)
	}
	return e, ""
}
