package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"redrain/rain"
)

// Wins reads the wins of players in Redis.
type Wins struct{ *client }

// NewWins returns a Wins.
func NewWins(s *Store) *Wins { return &Wins{s.client} }

// winsAtOnce is the number of wins or fields that are read in one call. Redis answers no other client in the
// meantime.
const winsAtOnce = 200

// Records returns a player's newest wins in Redis, up to limit, in the order won, and the number of all.
func (w *Wins) Records(ctx context.Context, c *rain.Campaign, user string, limit int) ([]Record, int, error) {
	amounts, err := w.amounts.Of(c)
	if err != nil {
		return nil, 0, err
	}
	key := w.keys.shard(c.ID, c.Layout().Home(user)).Wins
	var records []Record
	total, next := 0, ""
	for {
		answer, err := w.run(ctx, w.scripts.wins, []string{key}, user, next, min(winsAtOnce,
			limit-len(records))).Slice()
		var page []Record
		if err == nil {
			total, page, next, err = parseWins(user, answer)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("read a player's wins in campaign %s: %w", c.ID, err)
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

// parseWins parses an answer of wins.lua. next is the ticket to go on with, "" if these were all.
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

// EachRecord calls fn with all records of a shard's wins hash, page by page. It is not a snapshot: wins that happen
// meanwhile may be missing, and a record may come twice. fn's error ends it and is returned.
func (w *Wins) EachRecord(ctx context.Context, c *rain.Campaign, shard int, fn func(rain.Records) error) error {
	key, what := w.keys.shard(c.ID, shard).Wins, fmt.Sprintf("the wins of %s.%d", c.ID, shard)
	return w.eachPage(ctx, key, winsAtOnce, what, func(page []string) error { return fn(parseRecords(page)) })
}

// parseRecords parses alternating fields and values of the wins hash.
func parseRecords(page []string) (all rain.Records) {
	for i := 0; i+1 < len(page); i += 2 {
		if page[i] == "" {
			continue // only keeps the key in existence
		}
		user, ticket, win := strings.Cut(page[i], winMark)
		if win {
			r, before, err := parseRecord(user, ticket, page[i+1])
			if err == nil {
				all.Wins = append(all.Wins, rain.WinRecord{Win: r.Win, Entry: r.Entry, Before: before})
				continue
			}
		} else if _, ok := parsePlayer(user, page[i+1]); ok {
			continue
		}
		all.Unreadable = append(all.Unreadable, fmt.Sprintf("%q is %q", page[i], page[i+1]))
	}
	return all
}

// parsePlayer parses a player's record: "<number of wins> <newest ticket>".
func parsePlayer(user, text string) (p rain.PlayerRecord, ok bool) {
	count, newest, _ := strings.Cut(text, " ")
	n, ok := number(count)
	_, is := rain.ParseTicket(newest)
	return rain.PlayerRecord{User: user, Wins: int(n), Newest: newest}, ok && is
}

// WinsOf reads the records of wins by their users and tickets; a missing or unreadable record is zero.
func (w *Wins) WinsOf(ctx context.Context, c *rain.Campaign, shard int, of []rain.Win) ([]rain.WinRecord, error) {
	return readWins(ctx, w, c, shard, of, func(win rain.Win) string { return Record{Win: win}.field() },
		func(win rain.Win, text string) (record rain.WinRecord) {
			if r, before, err := parseRecord(win.User, win.Drop, text); err == nil {
				record = rain.WinRecord{Win: r.Win, Entry: r.Entry, Before: before}
			}
			return record
		})
}

// Players reads the records of players; a missing or unreadable record is zero.
func (w *Wins) Players(ctx context.Context, c *rain.Campaign, shard int, users []string) ([]rain.PlayerRecord, error) {
	return readWins(ctx, w, c, shard, users, func(user string) string { return user },
		func(user, text string) (record rain.PlayerRecord) {
			if p, ok := parsePlayer(user, text); ok {
				record = p
			}
			return record
		})
}

// readWins reads a field of a shard's wins hash for each of some keys, and parses them; the text of a missing one is
// "".
func readWins[K, R any](ctx context.Context, w *Wins, c *rain.Campaign, shard int, of []K, field func(K) string,
	parse func(of K, text string) R) ([]R, error) {
	records := make([]R, 0, len(of))
	for part := range slices.Chunk(of, winsAtOnce) {
		fields := make([]string, len(part))
		for i, one := range part {
			fields[i] = field(one)
		}
		found, err := w.ReadWins(ctx, c.ID, shard, fields)
		if err != nil {
			return nil, fmt.Errorf("read the wins of %s.%d: %w", c.ID, shard, unreadable(err))
		}
		for i, v := range found {
			text, _ := v.(string)
			records = append(records, parse(part[i], text))
		}
	}
	return records, nil
}
