package campaigns

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"redrain/grab/store"
)

// savedShard is all that Redis has of a shard.
type savedShard struct {
	hashes map[string]map[string]string
	stock  []string
	raw    []map[string]any
	ids    []string
	last   string
}

// save copies a shard's state. The in-process Redis has no DUMP.
func (i *interleaving) save(shard int) (s savedShard) {
	ctx, k := i.Context(), i.grabber.Keys(i.c.ID, shard)
	s.hashes = map[string]map[string]string{}
	for _, key := range []string{k.State, k.Wins, k.Taps, k.Lent, k.Borrowed} {
		all, err := i.rdb.HGetAll(ctx, key).Result()
		i.must(err)
		s.hashes[key] = all
	}
	var err error
	s.stock, err = i.rdb.LRange(ctx, k.Stock, 0, -1).Result()
	i.must(err)
	messages, err := i.rdb.XRange(ctx, k.Outbox, "-", "+").Result()
	i.must(err)
	for _, m := range messages {
		s.ids, s.raw = append(s.ids, m.ID), append(s.raw, m.Values)
	}
	s.last = s.hashes[k.State]["last"]
	return s
}

// goBack restores a shard's saved copy. The stream is settled before. After it the watch compares Redis with the
// ledger.
func (i *interleaving) goBack() {
	ctx, shard := i.Context(), i.shard()
	s, ok := i.saved[shard]
	if !ok || s.hashes[i.grabber.Keys(i.c.ID, shard).State]["rev"] == "" {
		return
	}
	i.must(i.settler.CatchUp(ctx, i.c.ID, shard))
	i.loseShard(i.c, shard)
	k := i.grabber.Keys(i.c.ID, shard)
	for key, fields := range s.hashes {
		if len(fields) > 0 {
			i.must(i.rdb.HSet(ctx, key, fields).Err())
		}
	}
	i.must(i.rdb.RPush(ctx, k.Stock, s.stock).Err())
	for n, id := range s.ids {
		i.scribbleAll(k.Outbox, id, s.raw[n])
	}
	if len(s.ids) == 0 {
		last := cmp.Or(strings.TrimPrefix(s.last, "0-0"), "0-1")
		i.scribbleAll(k.Outbox, last, map[string]any{"barrier": ""})
		i.must(i.rdb.XDel(ctx, k.Outbox, last).Err())
	}
	known, err := i.ledger.Moves.Known(ctx, i.c)
	i.must(err)
	_, err = i.grabber.Moves.Lose(ctx, i.c.ID, shard, known[shard].Entry, known[shard].Moves)
	i.must(err)
}

// tryRebuild has a node rebuild lost shards.
func (i *interleaving) tryRebuild(r *Rebuilder) {
	_, err := r.Rebuild(i.Context(), i.c.ID)
	if err != nil && !errors.Is(err, store.ErrAlive) && !errors.Is(err, errCut) {
		i.rt.Fatal(err)
	}
}

// cutRebuild is a rebuild that is cut off.
func (i *interleaving) cutRebuild() {
	r := i.another()
	i.at(r, rapid.SampledFrom([]string{"fence", "fenced", "top"}).Draw(i.rt, "cut before"), cut)
	i.tryRebuild(r)
}

// scribbleAll adds an entry with an id to a stream.
func (i *interleaving) scribbleAll(stream, id string, values map[string]any) {
	i.must(i.rdb.Do(i.Context(), append([]any{"XADD", stream, id}, flat(values)...)...).Err())
}

func flat(values map[string]any) (list []any) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		list = append(list, key, values[key])
	}
	return list
}
