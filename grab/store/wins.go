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
func (w *Wins) Records(ctx context.Context, c *rain.Campaign, user string, limit int) ([]rain.WinRecord, int, error) {
	amounts, err := w.amounts.Of(c)
	if err != nil {
		return nil, 0, err
	}
	key := w.keys.shard(c.ID, c.Layout().Home(user)).Wins
	var records []rain.WinRecord
	total, next := 0, ""
	for {
		answer, err := w.run(ctx, "wins", []string{key}, user, next, min(winsAtOnce,
			limit-len(records))).Slice()
		var page []rain.WinRecord
		if err == nil {
			total, page, next, err = parseWins(user, answer)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("read a player's wins in campaign %s: %w", c.ID, err)
		}
		for i := range page {
			page[i].Amount = amounts.Of(page[i].Packet)
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
func parseWins(user string, answer []any) (total int, page []rain.WinRecord, next string, err error) {
	if len(answer)%2 != 1 {
		return 0, nil, "", errReply
	}
	count, ok := answer[0].(int64)
	list, are := texts(answer[1:])
	if !ok || !are {
		return 0, nil, "", errReply
	}
	for pair := range slices.Chunk(list, 2) {
		r, err := parseRecord(user, pair[0], pair[1])
		if err != nil {
			return 0, nil, "", err
		}
		page, next = append(page, r), r.Before
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
			if r, err := parseRecord(user, ticket, page[i+1]); err == nil {
				all.Wins = append(all.Wins, r)
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
	n, ok := rain.ParseInt(count)
	_, is := rain.ParseTicket(newest)
	return rain.PlayerRecord{User: user, Wins: int(n), Newest: newest}, ok && is
}

// WinsOf reads the records of wins by their users and tickets; a missing or unreadable record is zero.
func (w *Wins) WinsOf(ctx context.Context, c *rain.Campaign, shard int, of []rain.Win) ([]rain.WinRecord, error) {
	records := make([]rain.WinRecord, 0, len(of))
	for part := range slices.Chunk(of, winsAtOnce) {
		fields := make([]string, len(part))
		for i, win := range part {
			fields[i] = WinField(win)
		}
		found, err := w.ReadWins(ctx, c.ID, shard, fields)
		if err != nil {
			return nil, fmt.Errorf("read the wins of %s.%d: %w", c.ID, shard, unreadable(err))
		}
		for i, v := range found {
			text, _ := v.(string)
			r, _ := parseRecord(part[i].User, part[i].Drop, text)
			records = append(records, r)
		}
	}
	return records, nil
}

// ReadWins reads fields of a shard's wins hash, as WinField names them.
func (w *Wins) ReadWins(ctx context.Context, campaign string, shard int, fields []string) ([]any, error) {
	found, err := w.rdb.HMGet(ctx, w.keys.shard(campaign, shard).Wins, fields...).Result()
	return found, w.Checked(err)
}

// winMark separates user and ticket in the field names of wins. No user has it.
const winMark = "\n"

// WinField returns a win's field of the wins hash.
func WinField(w rain.Win) string { return w.User + winMark + w.Drop }

// IsRecord reports whether the value of a win's field is that win, from that very outbox entry. An unreadable value is
// not.
func IsRecord(value any, of rain.WinRecord) bool {
	text, _ := value.(string)
	is, err := parseRecord(of.User, of.Drop, text)
	return err == nil && is.Packet == of.Packet && is.Entry == of.Entry
}

// parseRecord parses a win in the hash: "<packet> <outbox entry> <ticket won before that>".
func parseRecord(user, ticket, text string) (r rain.WinRecord, err error) {
	packet, rest, _ := strings.Cut(text, " ")
	entry, before, ok := strings.Cut(rest, " ")
	win, err := winOf(packet, ticket, user)
	if err == nil && (!ok || !isEntryID(entry)) {
		err = rain.ErrUnreadable
	}
	if err != nil {
		return rain.WinRecord{}, fmt.Errorf("win of %q, %q: %q: %w", user, ticket, text, err)
	}
	return rain.WinRecord{Win: win, Entry: entry, Before: before}, nil
}

// isEntryID reports whether an id has the form of a stream's: "<ms>-<seq>".
func isEntryID(id string) bool {
	_, _, err := rain.EntryRef{ID: id}.Position()
	return err == nil
}

// winOf checks each part of a win, because it is about to become money.
func winOf(packet, ticket, user string) (rain.Win, error) {
	p, ok1 := rain.ParseInt(packet)
	_, ok2 := rain.ParseTicket(ticket)
	if !ok1 || !ok2 || p >= rain.MaxPackets {
		return rain.Win{}, rain.ErrUnreadable
	}
	if err := rain.CheckUser(user); err != nil {
		return rain.Win{}, fmt.Errorf("%w: %w", rain.ErrUnreadable, err)
	}
	return rain.Win{User: user, Packet: int(p), Drop: ticket}, nil
}
