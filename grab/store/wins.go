package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

// Wins are what players have won, as Redis keeps it.
type Wins struct{ *client }

// NewWins makes a Wins.
func NewWins(s *Store) *Wins { return &Wins{s.client} }

// Records are all wins that Redis knows of a player, in the order won.
func (w *Wins) Records(ctx context.Context, c *rain.Campaign, user string) ([]Record, error) {
	key := w.keys.shard(c.ID, rain.HomeShard(user, Shards(c))).Wins
	text, err := w.rdb.HGet(ctx, key, user).Result()
	if w.checked(err) != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("reading a player's wins in campaign %s: %w", c.ID, err)
	}
	all, err := w.whole(ctx, key, []string{user}, []string{text})
	if err != nil {
		return nil, fmt.Errorf("reading a player's wins in campaign %s: %w", c.ID, err)
	}
	return all[0], nil
}

// whole is all that some players have won, each in the order won, given the texts of their fields. Blocks never
// change, so what is read of them later is as it was.
func (w *Wins) whole(ctx context.Context, key string, users, texts []string) ([][]Record, error) {
	holdings := make([]holding, len(users))
	var fields []string
	for i, user := range users {
		var err error
		if holdings[i], err = parseHolding(user, texts[i]); err != nil {
			return nil, err
		}
		fields = append(fields, holdings[i].fields(user)...)
	}
	blocks, err := w.fields(ctx, key, fields)
	if err != nil {
		return nil, err
	}
	all := make([][]Record, len(users))
	for i, user := range users {
		h := holdings[i]
		if all[i], err = h.with(user, blocks[:h.blocks]); err != nil {
			return nil, err
		}
		blocks = blocks[h.blocks:]
	}
	return all, nil
}

// scanned is how many fields of the wins hash are asked for at once. Redis answers no other client in the meantime.
const scanned = 500

// fields reads fields of a hash; one that is not there is empty.
func (w *Wins) fields(ctx context.Context, key string, names []string) ([]string, error) {
	texts := make([]string, 0, len(names))
	for some := range slices.Chunk(names, scanned) {
		found, err := w.rdb.HMGet(ctx, key, some...).Result()
		if w.checked(err) != nil {
			return nil, err
		}
		for _, v := range found {
			text, _ := v.(string)
			texts = append(texts, text)
		}
	}
	return texts, nil
}

// EachWin calls fn with every win of a shard that Redis knows, and the id of its outbox entry. It is not one
// moment's picture: what is won meanwhile may be in it or not, and a player's wins may come twice. fn's error ends
// it and is returned.
func (w *Wins) EachWin(ctx context.Context, c *rain.Campaign, shard int,
	fn func(user string, win rain.Win, entry string) error) error {
	return w.eachPlayer(ctx, c, shard, func(user string, records []Record) error {
		for _, r := range records {
			if err := fn(user, r.Win, r.Entry); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachPlayer calls fn with every player of a shard who has won, and all their wins, under the conditions of EachWin.
//
// Blocks are asked for when their player comes, and not taken as they come: one that is made in the meantime need
// not come at all, and the wins in it are not with their player any more.
func (w *Wins) eachPlayer(ctx context.Context, c *rain.Campaign, shard int,
	fn func(user string, records []Record) error) error {
	key := w.keys.shard(c.ID, shard).Wins
	for cursor := uint64(0); ; {
		page, next, err := w.rdb.HScan(ctx, key, cursor, "", scanned).Result()
		if w.checked(err) != nil {
			return fmt.Errorf("reading the wins of %s.%d: %w", c.ID, shard, err)
		}
		var users, texts []string
		for i := 0; i+1 < len(page); i += 2 {
			if !isBlock(page[i]) {
				users, texts = append(users, page[i]), append(texts, page[i+1])
			}
		}
		all, err := w.whole(ctx, key, users, texts)
		if err != nil {
			return fmt.Errorf("reading the wins of %s.%d: %w", c.ID, shard, err)
		}
		for i, user := range users {
			if err := fn(user, all[i]); err != nil {
				return err
			}
		}
		if next == 0 {
			return nil
		}
		cursor = next
	}
}
