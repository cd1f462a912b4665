package store_test

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"redrain/grab/grabtest"
	"redrain/internal/testenv"
	"redrain/rain"
)

// BenchmarkScript is the script alone, called as the coalescer calls it: no gate, one batch after the other. An op
// is one tap. redis-µs/tap is the processor time of the whole Redis, its append-only file included.
func BenchmarkScript(b *testing.B) {
	rdb := grabtest.Connect(b, testenv.Redis(b))
	const many = 1_000_000
	for _, size := range []int{1, 10, 100, 500} {
		scriptBench(b, rdb, fmt.Sprintf("first-win/batch=%d", size), storming{size: size, wins: many})
	}
	for _, c := range []struct{ before, players int }{{9, 2_000}, {99, 500}, {999, 100}} {
		scriptBench(b, rdb, fmt.Sprintf("win=%d/batch=100", c.before+1),
			storming{size: 100, players: c.players, wins: many, before: c.before})
	}
	scriptBench(b, rdb, "win=100/out-of-order/batch=100",
		storming{size: 100, players: 500, wins: many, before: 99, shuffled: true})
	scriptBench(b, rdb, "win=3/batch=100", storming{size: 100, players: 10_000, wins: 4, before: 2})
	scriptBench(b, rdb, "taps-counted/batch=100", storming{size: 100, wins: many, taps: 50})
	scriptBench(b, rdb, "already/batch=100", storming{size: 100, players: 10_000, wins: 1, before: 1})
	scriptBench(b, rdb, "sold-out/batch=100", storming{size: 100, wins: many, packets: 1})
	scriptBench(b, rdb, "paced/batch=100", storming{size: 100, wins: many, paced: true})
}

// storming is a storm on the script. The zero value of a field is nothing special.
type storming struct {
	size     int  // taps in a batch
	players  int  // they tap in turn; 0: each tap is by a new one
	wins     int  // allowed to a player
	before   int  // earlier wins of each player
	taps     int  // allowed to a player
	packets  int  // 0: as many as are needed; a tap on an empty shard costs less
	shuffled bool // a player's drops come in no order
	paced    bool // nothing is released yet
}

func scriptBench(b *testing.B, rdb redis.UniversalClient, name string, s storming) {
	b.Helper()
	b.Run(name, func(b *testing.B) {
		packets := cmp.Or(s.packets, b.N+s.size+s.players*s.before)
		gm := grabtest.New(b, rdb, grabtest.Setup{Packets: packets, Wins: s.wins, Taps: s.taps,
			Rain: func(r *rain.Rain) {
				if s.paced {
					r.StartsAt, r.Pacing = r.StartsAt+10_000, rain.PacingEven
				}
			}})
		script := gm.Script()
		batch := make([]*grabtest.Tap, s.size)
		for i := range batch {
			batch[i] = &grabtest.Tap{}
		}
		users := make([]string, cmp.Or(s.players, b.N+s.size))
		for i := range users {
			users[i] = "user-" + strconv.Itoa(i)
		}
		drops := make([]rain.DropID, 2+(b.N+s.size)/len(users)+s.before)
		for i := range drops {
			drops[i] = rain.DropID{N: int64(i), K: 3}
			if s.shuffled {
				drops[i] = rain.DropID{N: int64(i ^ 15), K: 3} // of 16 waves the last comes first
			}
		}
		play := func(from, n int) {
			for i := from; i < n; i += len(batch) {
				for j, t := range batch {
					t.User, t.Drop = users[(i+j)%len(users)], drops[(i+j)/len(users)]
				}
				testenv.Must(b, script.Call(b.Context(), batch))
			}
		}
		play(0, s.players*s.before)
		cpu := processorTime(b, rdb)
		b.ReportAllocs()
		b.ResetTimer()
		play(s.players*s.before, s.players*s.before+b.N)
		b.StopTimer()
		b.ReportMetric((processorTime(b, rdb)-cpu)*1e6/float64(b.N), "redis-µs/tap")
		forget(gm)
	})
}

// processorTime is the time that Redis has used so far, in seconds; 0 if Redis does not report it.
func processorTime(b *testing.B, rdb redis.UniversalClient) (sum float64) {
	b.Helper()
	info, err := rdb.Info(b.Context(), "cpu").Result()
	if err != nil {
		return 0
	}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			seconds := testenv.Got(strconv.ParseFloat(value, 64)).Must(b)
			sum += seconds
		}
	}
	return sum
}
