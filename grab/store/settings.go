package store

import (
	"context"
	"fmt"
	"slices"

	"redrain/rain"
)

// closedRevision is the revision of a closed shard, as close.lua writes it: no update is newer.
const closedRevision = 1<<53 - 1

// campaignFields returns the fields of a shard's state that never change, with their values.
func campaignFields(c *rain.Campaign) []any {
	return []any{
		"wins_per_user", c.WinsPerUser, // over all rains
		"taps_per_user", c.TapsPerUser, // over all rains; 0: no limit
	}
}

// rainFields returns the fields of a shard's state that the current rain sets, with their values. Times are Unix
// milliseconds. A stopped rain counts as none.
func rainFields(r *rain.Rain) []any {
	if r == nil || r.StoppedAt != 0 {
		return []any{"first_wave", "", "opens", 0, "closes", 0, "paced", 0, "duration_ms", 0, "beat_ms", 0}
	}
	paced, beat := 0, int64(0)
	if r.Pacing == rain.PacingEven {
		paced = 1
	}
	if r.Draws() {
		beat = r.BeatMS
	}
	return []any{
		"first_wave", r.FirstWave, // of the rain in which taps may count, "" without one
		"opens", r.StartsAt,
		"closes", r.TapsUntil() + closesAfterMS, // time from which taps no longer count
		"paced", paced, // 1: the stock is released in proportion to the time, 0: at once
		"duration_ms", r.DurationMS,
		"beat_ms", beat, // length of a beat; 0 if the rain has no draws
	}
}

// openingFields returns the fields that a shard has before its campaign's version is applied: there is no rain.
func openingFields(c *rain.Campaign) []any { return append(campaignFields(c), rainFields(nil)...) }

// readSettings compares the settings in a shard's state with a version of its campaign. Variable settings are
// compared only if the state is of this version: a Redis with an older one proves nothing.
func readSettings(c *rain.Campaign, state map[string]string, s *rain.ShardSnapshot) {
	want, of := campaignFields(c), "the campaign says"
	s.Closed = state[fieldStatus] == string(rain.Closed)
	switch {
	case s.Closed || s.Revision == closedRevision:
		want = append(want, fieldStatus, rain.Closed, fieldRevision, closedRevision)
		of = "a closed shard has"
	case s.Revision == c.Revision && (c.Status == rain.Open || c.Status == rain.Paused):
		want = append(append(want, fieldStatus, c.Status), rainFields(c.Current())...)
		of = fmt.Sprintf("revision %d of the campaign says", c.Revision)
	case state[fieldStatus] != string(rain.Open) && state[fieldStatus] != string(rain.Paused):
		s.Altered = append(s.Altered, fmt.Sprintf("the state's %s is %q", fieldStatus, state[fieldStatus]))
	}
	for pair := range slices.Chunk(want, 2) {
		field, value := fmt.Sprint(pair[0]), fmt.Sprint(pair[1])
		if state[field] != value {
			s.Altered = append(s.Altered, fmt.Sprintf("the state's %s is %q, but %s %q", field, state[field], of,
				value))
		}
	}
}

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
			n, ok := rain.ParseInt(page[i+1])
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
		if c.Checked(err) != nil {
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
