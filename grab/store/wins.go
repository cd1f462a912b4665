package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"redrain/rain"
)

// Wins are what players have won, as Redis keeps it.
type Wins struct{ *client }

// NewWins makes a Wins.
func NewWins(s *Store) *Wins { return &Wins{s.client} }

// winsAtOnce is how many wins or fields are asked for in one call. Redis answers no other client in the meantime.
const winsAtOnce = 500

// Records are the newest wins that Redis knows of a player, up to limit, in the order won; and how many there are in all.
func (w *Wins) Records(ctx context.Context, c *rain.Campaign, user string, limit int) ([]Record, int, error) {
	amounts, err := w.amounts.Of(c)
	if err != nil {
		return nil, 0, err
	}
	key := w.keys.shard(c.ID, rain.HomeShard(user, Shards(c))).Wins
	var records []Record
	total, next := 0, ""
	for {
		answer, err := w.run(ctx, w.scripts.wins, []string{key}, user, next, min(winsAtOnce, limit-len(records))).Slice()
		var page []Record
		if err == nil {
			total, page, next, err = parseWins(user, answer)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("reading a player's wins in campaign %s: %w", c.ID, err)
		}
		for i := range page {
			page[i].Win.Amount = amounts.Of(page[i].Win.Packet)
		}
		records = append(records, page...)
		if len(page) == 0 || next == "" || len(records) >= limit {
			break
		}
	}
	slices.Reverse(records)
	return records, total, nil
}

// parseWins reads an answer of wins.lua. next is the ticket to go on with, "" where these were all.
func parseWins(user string, answer []any) (total int, page []Record, next string, err error) {
	if len(answer)%2 != 1 {
		return 0, nil, "", errReply
	}
	count, ok := answer[0].(int64)
	if !ok {
		return 0, nil, "", errReply
	}
	for i := 1; i < len(answer); i += 2 {
		ticket, ok1 := answer[i].(string)
		text, ok2 := answer[i+1].(string)
		if !ok1 || !ok2 {
			return 0, nil, "", errReply
		}
		var r Record
		if r, next, err = parseRecord(user, ticket, text); err != nil {
			return 0, nil, "", err
		}
		page = append(page, r)
	}
	return int(count), page, next, nil
}

// EachWin calls fn with every win of a shard that Redis knows, and the id of its outbox entry. It is not one
// moment's picture: what is won meanwhile may be in it or not, and a win may come twice. fn's error ends it and is
// returned.
func (w *Wins) EachWin(ctx context.Context, c *rain.Campaign, shard int,
	fn func(user string, win rain.Win, entry string) error) error {
	amounts, err := w.amounts.Of(c)
	if err != nil {
		return err
	}
	key := w.keys.shard(c.ID, shard).Wins
	for cursor := uint64(0); ; {
		page, next, err := w.rdb.HScan(ctx, key, cursor, "", winsAtOnce).Result()
		if w.checked(err) != nil {
			return fmt.Errorf("reading the wins of %s.%d: %w", c.ID, shard, err)
		}
		for i := 0; i+1 < len(page); i += 2 {
			user, ticket, win := strings.Cut(page[i], winMark)
			if !win {
				continue // how many a player has, which follows from the wins
			}
			r, _, err := parseRecord(user, ticket, page[i+1])
			if err != nil {
				return fmt.Errorf("reading the wins of %s.%d: %w", c.ID, shard, err)
			}
			r.Win.Amount = amounts.Of(r.Win.Packet)
			if err := fn(user, r.Win, r.Entry); err != nil {
				return err
			}
		}
		if next == 0 {
			return nil
		}
		cursor = next
	}
}
