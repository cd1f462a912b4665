package store_test

import (
	"fmt"
	"strings"
	"testing"

	"redrain/grab/confirm"
	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
)

// useEverything does all that this package does with Redis.
func useEverything(t *testing.T, gm *grabtest.Game) {
	t.Helper()
	ctx := t.Context()
	gm.Want("p", gm.Drop(0), outcome.Won)
	gm.Want("p", gm.Drop(1), outcome.Already)
	gm.Balance()
	for shard := range gm.C.Shards {
		entries, _, err := gm.G.Page(ctx, gm.C.ID, shard, "", 10)
		testenv.Must(t, err)
		testenv.Must(t, gm.G.Remove(ctx, grabtest.Refs(entries)))
	}
	confirming := confirm.New(gm.G.Store, confirm.Replica, nil, nil)
	// the write for the replicas, whether there are any or not
	testenv.Must(t, testenv.Err(confirming.PlayersWins(ctx, gm.C, "p")))
	gm.Gone = 1
	moveSomething(gm, 0, 1)
	testenv.Must(t, testenv.Err(gm.G.Shards(ctx, gm.C)))
	if lost, err := gm.G.Moves.Lose(ctx, gm.C.ID, 0, "9-9", 1_000); err != nil || !lost {
		t.Error(lost, err)
	}
	wins := gm.Known(rain.HomeShard("p", gm.C.Shards))
	gm.Lose()
	for shard := range gm.C.Shards {
		r := gm.Restoration(shard, nil)
		if shard == rain.HomeShard("p", gm.C.Shards) {
			r = gm.Restoration(shard, wins)
		}
		testenv.Must(t, gm.G.Restore(ctx, gm.C, shard, r))
	}
	testenv.Must(t, gm.G.Report(ctx, gm.C.ID, "{node}", 1, store.NodeReport{}))
	for _, addr := range []string{"127.0.0.1", "::1", "}{", "a b", strings.Repeat("x", 1000), "", "ö"} {
		if _, _, err := gm.G.Allow(ctx, "test", addr, 1, 1); err != nil {
			t.Errorf("%q: %v", addr, err)
		}
	}
}

// moveSomething moves two packets from one shard to another.
func moveSomething(gm *grabtest.Game, from, to int) {
	gm.T.Helper()
	ctx := gm.T.Context()
	lent, err := gm.G.Lend(ctx, gm.C.ID, from, to, "a move", 2)
	if err != nil || lent == nil {
		gm.T.Fatal(lent, err)
	}
	testenv.Must(gm.T, testenv.Err(gm.G.Borrow(ctx, gm.C.ID, *lent)))
	testenv.Must(gm.T, gm.G.Moves.Done(ctx, gm.C.ID, from, lent.Move))
	gm.Balance()
}

// While a slot moves to another node, a Cluster refuses commands if some of their keys are missing. So all keys of a
// shard exist from its opening on, through every operation.
func TestEveryKeyOfAShardExistsFromItsOpeningOn(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 4, Shards: 2, Taps: 3, Wins: 9, NoRain: true})
		whole := func(when string) {
			t.Helper()
			for shard := range 2 {
				for _, key := range gm.G.Keys(gm.C.ID, shard).Opening() {
					testenv.Equal(t, rdb.Exists(t.Context(), key).Val(), 1, "%s: %s is missing", when, key)
				}
			}
		}
		whole("opened")
		gm.LetItRain(nil)
		gm.Gate = gm.G.Gate(gm.C)
		moveSomething(gm, 0, 1) // all that shard 0 has
		whole("moved away")
		user := ofShard(1, 2)
		for i := range 4 {
			tap := grabtest.TapOf(t, user, gm.Drop(i))
			testenv.Must(t, grabtest.ScriptOf(gm, 1).Call(t.Context(), []*grabtest.Tap{tap}))
		}
		whole("won")
		for _, e := range gm.Outbox() {
			gm.Remove([]rain.Entry{e})
		}
		whole("paid")
		wins := [][]grabtest.Known{gm.Known(0), gm.Known(1)}
		gm.Lose()
		for shard := range 2 {
			testenv.Must(t, gm.G.Restore(t.Context(), gm.C, shard, gm.Restoration(shard, wins[shard])))
		}
		whole("restored")
		testenv.Must(t, gm.G.CloseCampaign(t.Context(), gm.C))
		whole("closed")
		for _, e := range gm.Outbox() {
			gm.Remove([]rain.Entry{e})
		}
		whole("closed and paid")
	})
}

func TestEveryKeyHasOneHashTag(t *testing.T) {
	rdb := grabtest.InProcess(t)
	gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 100, Shards: 5, Taps: 5,
		Options: func(o *grabtest.Options) { o.Namespace = "ns" }})
	useEverything(t, gm)
	keys, err := rdb.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) < 20 {
		t.Fatalf("keys %v, %v", keys, err)
	}
	tags := map[string]int{}
	for _, key := range keys {
		if strings.Count(key, "{") != 1 || strings.Count(key, "}") != 1 || strings.Contains(key, "{}") {
			t.Errorf("%q has not exactly one hash tag", key)
		}
		if !strings.HasPrefix(key, "ns:{") {
			t.Errorf("%q is outside the namespace", key)
		}
		tags[key[strings.Index(key, "{"):strings.Index(key, "}")+1]]++
	}
	for shard := range 5 {
		if n := tags[fmt.Sprintf("{%s.%d}", gm.C.ID, shard)]; n < 3 {
			t.Errorf("shard %d has %d keys", shard, n)
		}
	}
	if n := len(tags); n != 5+7 { // a bucket for each address
		t.Errorf("%d tags: %v", n, tags)
	}
}

func TestOnAClusterKeysStayOnTheirSlot(t *testing.T) {
	rdb := grabtest.Connect(t, strings.Join(testenv.RedisCluster(t), ","))
	// Sixteen shards lie on all of the masters: a key of another slot would be on another master more often than not.
	useEverything(t, grabtest.New(t, rdb, grabtest.Setup{Packets: 1000, Shards: 16, Taps: 5}))
}

// The key shows the limit and its subject, as far as that is plain text. The rest is hashed, so it cannot break out of
// the hash tag.
func TestABucketIsNamedForWhomItIs(t *testing.T) {
	s := store.New(nil, store.Options{Namespace: "ns"})
	for _, plain := range []string{"127.0.0.1", "::1", "aZ-_09", "az", "AZ", "09", "x", strings.Repeat("x", 64)} {
		testenv.Equal(t, s.BucketKey("hello", plain), "ns:{allow.hello."+plain+"}:bucket", "the bucket")
	}
	testenv.Equal(t, s.NodesKey("c"), "ns:{c.0}:nodes", "the nodes' reports are in")
	keys := map[string]string{}
	for _, other := range []string{"", "{", "}", "a}b", "`", "@", "[", "/", ";", "ö", " ", strings.Repeat("x", 65)} {
		key := s.BucketKey("hello", other)
		testenv.Equal(t, len(strings.TrimSuffix(strings.TrimPrefix(key, "ns:{allow.hello.#"), "}:bucket")), 32,
			"length of the hash of %q, in %q", other, key)
		testenv.Equal(t, keys[key], "", "%q shares a bucket with", other)
		keys[key] = "the one of " + other
	}
}
