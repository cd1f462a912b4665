// Package streamtest has a JetStream in memory for tests of epochs. It imports neither package confirm nor its users.
package streamtest

import (
	"context"
	"fmt"
	"sync"

	"redrain/rain"
)

// Stream holds entries and the records of epochs in one order. The zero value is empty.
type Stream struct {
	mu      sync.Mutex
	entries []Entry
	records map[string][]rain.Epoch // by shard; the newest last
	last    uint64
}

// Entry is an entry and its sequence in the stream.
type Entry struct {
	rain.Entry
	Seq uint64
}

func key(campaign string, shard int) string { return fmt.Sprint(campaign, ".", shard) }

// Publish is that of a confirm.Publisher.
func (s *Stream) Publish(_ context.Context, e rain.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.entries = append(s.entries, Entry{e, s.last})
	return nil
}

// Record is that of a confirm.Publisher.
func (s *Stream) Record(_ context.Context, campaign string, shard int) (newest rain.Epoch, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if all := s.records[key(campaign, shard)]; len(all) > 0 {
		newest = all[len(all)-1]
	}
	return newest, nil
}

// Claim is that of a confirm.Publisher.
func (s *Stream) Claim(ctx context.Context, campaign string, shard int, after uint64, r rain.Epoch) (rain.Epoch,
	error) {
	newest, _ := s.Record(ctx, campaign, shard)
	s.mu.Lock()
	defer s.mu.Unlock()
	if newest.Seq != after {
		return r, rain.ErrEpochClaimed
	}
	s.last++
	if r.Seq = s.last; r.IsRebuild() {
		r.From = r.Seq
	}
	if s.records == nil {
		s.records = map[string][]rain.Epoch{}
	}
	s.records[key(campaign, shard)] = append(s.records[key(campaign, shard)], r)
	return r, nil
}

// Newest is that of a confirm.Publisher.
func (s *Stream) Newest(_ context.Context, campaign string, shard int, behind uint64,
	fn func(rain.Entry) error) error {
	for _, e := range s.Counting(campaign, shard) {
		if e.Seq > behind {
			if err := fn(e.Entry); err != nil {
				return err
			}
		}
	}
	return nil
}

// Counting returns the entries of a shard that count: those that did not come behind the claim of a newer epoch.
func (s *Stream) Counting(campaign string, shard int) (all []Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		counts := e.Ref.Campaign == campaign && e.Ref.Shard == shard
		for _, r := range s.records[key(campaign, shard)] {
			counts = counts && (r.Number <= e.Epoch || r.Seq > e.Seq)
		}
		if counts {
			all = append(all, e)
		}
	}
	return all
}
