package grab

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/internal/testenv"
	"redrain/rain"
)

func replicated(t *testing.T, rdb redis.UniversalClient, s setup) *game {
	t.Helper()
	s.options = func(o *Options) { o.Confirm = ConfirmReplica }
	return newGame(t, rdb, s)
}

// untilWon taps until the win is told: on a busy machine a replica may need longer than the time it has.
func (gm *game) untilWon(user, drop string) (r Result) {
	gm.t.Helper()
	testenv.Eventually(gm.t, time.Minute, user+" is told of the win", func() bool {
		r = gm.tap(user, drop)
		return r.Outcome == Won
	})
	return r
}

func TestAWinIsToldWhenAReplicaHasIt(t *testing.T) {
	master := testenv.StartRedis(t)
	replica := testenv.StartReplica(t, master)
	gm := replicated(t, connect(t, master.Addr), setup{packets: 3})
	copied := connect(t, replica.Addr)
	drop := gm.drop(0)
	first := gm.untilWon("p", drop)
	// Without waiting for anything: it was there before the player was told.
	text, err := copied.HGet(t.Context(), gm.g.keys.shard(gm.c.ID, 0).wins, "p").Result()
	if err != nil || !strings.HasPrefix(text, ";"+drop+"="+itoa(int64(first.Packet))+"=") {
		t.Errorf("the replica has %q (%v)", text, err)
	}
	if n, err := copied.Exists(t.Context(), gm.g.keys.shard(gm.c.ID, 0).confirmed).Result(); err != nil || n != 1 {
		t.Errorf("the write that it acknowledged: %d keys, %v", n, err)
	}
	testenv.Eventually(t, time.Minute, "the win is told again", func() bool { return len(gm.confirmed("p")) == 1 })

	replica.Freeze()
	results := gm.batchOf([2]string{"q", drop}, [2]string{"p", gm.drop(1)})
	if results[0].Outcome != Unavailable || results[1].Outcome != Already {
		t.Errorf("%v, want unavailable for the winner only", results)
	}
	// A replay writes nothing by itself; it is not told all the same.
	gm.want("q", drop, Unavailable)
	elsewhere := *gm
	elsewhere.rdb = connect(t, master.Addr) // whose connections have written nothing that WAIT could wait for
	elsewhere.gate = elsewhere.node().Gate(gm.c)
	elsewhere.want("q", drop, Unavailable)
	if got := gm.confirmed("q"); got != nil {
		t.Errorf("told of %v, which no replica has", got)
	}
	if got := gm.confirmed("nobody"); got != nil {
		t.Errorf("nobody has won %v", got)
	}
	replica.Thaw()
	second := gm.untilWon("q", drop)
	if again := elsewhere.untilWon("q", drop); second != again {
		t.Errorf("%v and %v", second, again)
	}
	if n := len(gm.wins()); n != 2 {
		t.Errorf("%d wins, want 2", n)
	}
	gm.balance()

	replica.Kill()
	gm.want("r", drop, Unavailable)
	replica.Start()
	gm.untilWon("r", drop)
	gm.balance()
}

// A master that has taken over without a win must not be taken for its proof.
func TestAMasterWithoutTheWinProvesNothing(t *testing.T) {
	master := testenv.StartRedis(t)
	testenv.StartReplica(t, master)
	gm := replicated(t, connect(t, master.Addr), setup{packets: 3})
	r := gm.untilWon("p", gm.drop(0))
	win := rain.Win{User: "p", Packet: r.Packet, Amount: r.Amount, Drop: gm.drop(0)}
	entry := gm.outbox()[0].Ref.ID
	acknowledged := func(p *promise) {
		testenv.Eventually(t, time.Minute, "a replica acknowledges", func() bool {
			return gm.g.confirmer.confirm(t.Context(), gm.c.ID, 0, []*promise{p}) == nil
		})
	}
	for name, p := range map[string]*promise{
		"another entry": {entry: "1-1", witness: win},
		"no record":     {entry: entry, witness: rain.Win{User: "q", Packet: 1, Amount: 100, Drop: win.Drop}},
		"a prefix":      {entry: entry[:len(entry)-1], witness: win},
	} {
		if acknowledged(p); p.kept {
			t.Errorf("%s: kept", name)
		}
	}
	good := &promise{entry: entry, witness: win}
	if acknowledged(good); !good.kept {
		t.Error("a win that is there was not kept")
	}
}

func TestWithoutAReplicaNobodyIsTold(t *testing.T) {
	for name, rdb := range map[string]redis.UniversalClient{"in-process": inProcess(t),
		"redis": connect(t, testenv.Redis(t))} {
		t.Run(name, func(t *testing.T) {
			gm := replicated(t, rdb, setup{packets: 1})
			gm.want("p", gm.drop(0), Unavailable)
			gm.want("q", gm.drop(0), SoldOut)
			advice := strings.Join(gm.g.Advice(t.Context()), "\n")
			if !strings.Contains(advice, "replica") || !strings.Contains(advice, "unavailable") {
				t.Errorf("the advice is %q", advice)
			}
		})
	}
}

func TestReplicasOfAClusterConfirm(t *testing.T) {
	rdb := connect(t, strings.Join(testenv.RedisCluster(t), ","))
	gm := replicated(t, rdb, setup{packets: 60, shards: 6})
	for i := range 30 {
		user := "p" + itoa(int64(i))
		r := gm.untilWon(user, gm.drop(0))
		testenv.Eventually(t, time.Minute, "the win is told again", func() bool {
			got := gm.confirmed(user)
			return len(got) == 1 && got[0].Packet == r.Packet
		})
	}
	for _, advice := range gm.g.Advice(t.Context()) {
		if strings.Contains(advice, "replica") {
			t.Errorf("the advice is %q", advice)
		}
	}
	gm.balance()
}
