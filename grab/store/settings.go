package store

import (
	"context"
	"fmt"
	"strconv"

	"redrain/rain"
)

// closedRevision is the revision of a closed shard, as close.lua writes it: no update is newer.
const closedRevision = 1<<53 - 1

// readSettings compares the settings in a shard's state with a version of its campaign. Variable settings are
// compared only if the state is of this version: a Redis with an older one proves nothing.
func readSettings(c *rain.Campaign, state map[string]string, s *rain.ShardSnapshot) {
	want := map[string]string{
		fieldWinsPerUser: strconv.Itoa(c.WinsPerUser), fieldTapsPerUser: strconv.Itoa(c.TapsPerUser),
	}
	of := "the campaign says"
	s.Closed = state[fieldStatus] == string(rain.Closed)
	switch {
	case s.Closed || s.Revision == closedRevision:
		want[fieldStatus], want[fieldRevision] = string(rain.Closed), strconv.Itoa(closedRevision)
		of = "a closed shard has"
	case s.Revision == c.Revision && (c.Status == rain.Open || c.Status == rain.Paused):
		want[fieldStatus] = string(c.Status)
		fields := rainFields(c.Current())
		for i := 0; i < len(fields); i += 2 {
			want[fmt.Sprint(fields[i])] = fmt.Sprint(fields[i+1])
		}
		of = fmt.Sprintf("revision %d of the campaign says", c.Revision)
	case state[fieldStatus] != string(rain.Open) && state[fieldStatus] != string(rain.Paused):
		s.Altered = append(s.Altered, fmt.Sprintf("the state's %s is %q", fieldStatus, state[fieldStatus]))
	}
	for _, field := range settings {
		if value, known := want[field]; known && state[field] != value {
			s.Altered = append(s.Altered, fmt.Sprintf("the state's %s is %q, but %s %q", field, state[field], of,
				value))
		}
	}
}

// settings are the fields of the state that the campaign sets.
var settings = []string{fieldStatus, fieldRevision, fieldWinsPerUser, fieldTapsPerUser, fieldFirstWave, fieldOpens,
	fieldCloses, fieldPaced, fieldDuration, fieldBeat}

// borrowedAtOnce is the approximate number of moves that are read in one call.
const borrowedAtOnce = 500

// EachBorrowed calls fn with each move to a shard and its number among those of the shard, in any order. An invalid
// number is -1. A move that comes meanwhile may be missing.
func (s *Sums) EachBorrowed(ctx context.Context, c *rain.Campaign, shard int,
	fn func(move string, number int64)) error {
	key, what := s.keys.shard(c.ID, shard).Borrowed, fmt.Sprintf("the moves to %s.%d", c.ID, shard)
	return s.eachPage(ctx, key, borrowedAtOnce, what, func(page []string) error {
		for i := 0; i+1 < len(page); i += 2 {
			if page[i] == "" {
				continue // only keeps the key in existence
			}
			n, ok := number(page[i+1])
			if !ok {
				n = -1
			}
			fn(page[i], n)
		}
		return nil
	})
}

// eachPage calls fn with alternating fields and values of a hash, about count fields at a time, in any order. fn's
// error ends it and is returned.
func (c *client) eachPage(ctx context.Context, key string, count int64, what string,
	fn func(page []string) error) error {
	for cursor := uint64(0); ; {
		page, next, err := c.rdb.HScan(ctx, key, cursor, "", count).Result()
		if c.checked(err) != nil {
			return fmt.Errorf("read %s: %w", what, unreadable(err))
		}
		if err := fn(page); err != nil {
			return err
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}
