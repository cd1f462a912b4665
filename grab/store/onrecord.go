package store

import (
	"context"
	"strings"
)

// OnRecord tells of each win whether the wins hash has it, from that very outbox entry. read returns fields of the
// hash as HMGET does; it is called once more where a player has wins in blocks.
func OnRecord(of []Record, read func(fields []string) ([]any, error)) ([]bool, error) {
	users := make([]string, len(of))
	for i, r := range of {
		users[i] = r.Win.User
	}
	texts, err := readAll(users, read)
	if err != nil {
		return nil, err
	}
	there := make([]bool, len(of))
	var fields []string // blocks,
	var owners []int    // and whose they are
	for i, r := range of {
		if there[i] = r.isIn(texts[i]); there[i] {
			continue
		}
		h, _ := parseHolding(users[i], texts[i]) // what nobody can read has no blocks
		for _, field := range h.fields(users[i]) {
			fields, owners = append(fields, field), append(owners, i)
		}
	}
	if len(fields) == 0 {
		return there, nil
	}
	if texts, err = readAll(fields, read); err != nil {
		return nil, err
	}
	for n, i := range owners {
		there[i] = there[i] || of[i].isIn(texts[n])
	}
	return there, nil
}

// ReadWins reads fields of a shard's wins hash, for OnRecord.
func (w *Wins) ReadWins(ctx context.Context, campaign string, shard int, fields []string) ([]any, error) {
	found, err := w.rdb.HMGet(ctx, w.keys.shard(campaign, shard).Wins, fields...).Result()
	return found, w.checked(err)
}

// readAll reads fields as text, "" where there is none.
func readAll(fields []string, read func([]string) ([]any, error)) ([]string, error) {
	found, err := read(fields)
	if err == nil && len(found) != len(fields) {
		err = errReply
	}
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(found))
	for i, v := range found {
		texts[i], _ = v.(string)
	}
	return texts, nil
}

// isIn tells whether the win is among those of a text.
func (r Record) isIn(text string) bool { return strings.Contains(text+";", r.text()+";") }
