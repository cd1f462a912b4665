package grab

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"redrain/internal/testenv"
	"redrain/rain"
)

func TestWhatIsPublishedIsWhatTheOutboxHolds(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm, to := streaming(t, rdb, setup{packets: 6, wins: 2, split: rain.DoubleMean})
			a, b, c := gm.drop(0), gm.drop(1), gm.drop(2)
			// Players with two drops, with the same drop twice, and some who come too late.
			first := gm.batchOf([2]string{"张 三", a}, [2]string{"p", a}, [2]string{"p", b}, [2]string{"p", a},
				[2]string{"p", c})
			for i, want := range []Outcome{Won, Won, Won, Won, Already} {
				if first[i].Outcome != want {
					t.Errorf("tap %d: %v, want %v", i, first[i], want)
				}
			}
			gm.batchOf([2]string{"q", a}, [2]string{"张 三", a}, [2]string{"r", a})
			for _, user := range []string{"s", "t", "u"} {
				gm.tap(user, a)
			}
			outbox := gm.outbox()
			var written []rain.Entry
			for _, e := range to.entries() {
				// The second batch had a win of the first: that was published again.
				if len(written) == 1 && reflect.DeepEqual(e, written[0]) {
					continue
				}
				written = append(written, e)
			}
			if len(to.entries()) != len(outbox)+1 {
				t.Errorf("published %d entries, of %d in the outbox", len(to.entries()), len(outbox))
			}
			if read := gm.read("a", 100); !reflect.DeepEqual(read, outbox) {
				t.Errorf("read\n%+v\nthe outbox holds\n%+v", read, outbox)
			}
			byRef := map[string]rain.Entry{}
			for _, e := range outbox {
				byRef[e.Ref.String()] = e
			}
			for _, e := range to.entries() {
				if !reflect.DeepEqual(e, byRef[e.Ref.String()]) {
					t.Errorf("published\n%+v\nthe outbox holds\n%+v", e, byRef[e.Ref.String()])
				}
			}
			if len(gm.wins()) != 6 {
				t.Errorf("%d wins", len(gm.wins()))
			}
		})
	}
}

// The last packet may go to one who is not told at first: then "sold out", as all others hear, is no answer.
func TestTheLastWinIsToldAfterAll(t *testing.T) {
	gm, to := streaming(t, inProcess(t), setup{packets: 1})
	to.refuse(true)
	gm.want("p", gm.drop(0), Unavailable)
	gm.want("q", gm.drop(0), SoldOut)
	gm.want("p", gm.drop(0), Unavailable)
	gm.want("p", gm.drop(1), SoldOut) // on which nothing was decided
	to.refuse(false)
	gm.untilWon("p", gm.drop(0)) // what comes while the batch before is still failing is given up with it
	gm.want("p", gm.drop(0), Won)
	if n := len(to.entries()); n != 1 {
		t.Errorf("published %d times", n)
	}
}

func TestAWinIsToldWhenTheStreamHasIt(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm, to := streaming(t, rdb, setup{packets: 3})
			var woken int
			gm.g.o.OnWin = func(string, int) { woken++ }
			drop := gm.drop(0)
			to.refuse(true)
			gm.want("p", drop, Unavailable)
			if woken != 1 || len(gm.wins()) != 1 {
				t.Errorf("the relay was woken %d times for %d wins", woken, len(gm.wins()))
			}
			if got := gm.confirmed("p"); got != nil {
				t.Errorf("told of %v, which the stream does not have", got)
			}
			gm.want("p", drop, Unavailable) // it was not remembered
			if r := tapOn(gm.node().Gate(gm.c), "p", drop); r.Outcome != Unavailable {
				t.Errorf("on another node: %v", r)
			}

			to.refuse(false)
			won := gm.untilWon("p", drop) // what comes while the batch before is still failing is given up with it
			if got, outbox := to.entries(), gm.outbox(); !reflect.DeepEqual(got, outbox) {
				t.Errorf("published %+v, the outbox holds %+v", got, outbox)
			}
			want := []rain.Win{{User: "p", Packet: won.Packet, Amount: won.Amount, Drop: drop}}
			if got := gm.confirmed("p"); !reflect.DeepEqual(got, want) {
				t.Errorf("told of %v, want %v", got, want)
			}
			// What the ledger has needs no stream any more.
			gm.remove(gm.read("a", 10))
			to.refuse(true)
			if r := tapOn(gm.node().Gate(gm.c), "p", drop); r != won {
				t.Errorf("settled, and on another node: %v, want %v", r, won)
			}
			if got := gm.confirmed("p"); !reflect.DeepEqual(got, want) {
				t.Errorf("settled, and told of %v, want %v", got, want)
			}
			if got := gm.confirmed("nobody"); got != nil {
				t.Errorf("nobody has won %v", got)
			}
			gm.want("q", drop, Unavailable)
			if got, err := gm.g.wins(t.Context(), gm.c, "q"); err != nil || len(got) != 1 {
				t.Errorf("wins %v, %v", got, err)
			}
		})
	}
}

// A player with a win that is settled and one that cannot be confirmed is told of the first.
func TestOfSomeWinsTheConfirmedOnesAreTold(t *testing.T) {
	gm, to := streaming(t, inProcess(t), setup{wins: 3})
	var told []rain.Win
	for i := range 3 {
		r := gm.want("p", gm.drop(i), Won)
		told = append(told, rain.Win{User: "p", Packet: r.Packet, Amount: r.Amount, Drop: gm.drop(i)})
	}
	entries := gm.read("a", 10)
	gm.remove(entries[:1])
	to.mu.Lock()
	to.before = func(_ context.Context, e rain.Entry) error {
		if e.Ref == entries[1].Ref {
			return errStream
		}
		return nil
	}
	to.mu.Unlock()
	if got, want := gm.confirmed("p"), []rain.Win{told[0], told[2]}; !reflect.DeepEqual(got, want) {
		t.Errorf("told of %v, want %v", got, want)
	}
}

// Losers are told at once, and what is published does not hold up their answers.
func TestLosersDoNotWait(t *testing.T) {
	gm, to := streaming(t, inProcess(t), setup{packets: 1})
	release, drop := make(chan struct{}), gm.drop(0)
	to.before = func(context.Context, rain.Entry) error { <-release; return nil }
	winner, loser := make(chan Result, 1), make(chan Result, 1)
	id, _ := rain.ParseDrop(drop)
	one := func(user string, told chan<- Result) *Tap {
		return &Tap{User: user, Drop: id, stripe: newMemory(nil).stripe(user), player: &player{},
			Asker: &asker{func(r Result) { told <- r }}}
	}
	c := newCoalescer(&workers{}, (&batcher{gate: gm.gate, keys: gm.g.keys.shard(gm.c.ID, 0).grabbing()}).decide)
	c.queue = []*Tap{one("p", winner), one("q", loser)} // together in one batch
	var deciding sync.WaitGroup
	deciding.Go(c.flush)
	if r := <-loser; r.Outcome != SoldOut {
		t.Errorf("the loser: %v", r)
	}
	select {
	case r := <-winner:
		t.Errorf("the winner was told %v before the stream had it", r)
	default:
	}
	close(release)
	if r := <-winner; r.Outcome != Won {
		t.Errorf("the winner: %v", r)
	}
	deciding.Wait()
}

// Redis loses its memory between the acknowledgement and the answer: a rebuild may have counted before the win came
// to the stream.
func TestAWinThatRedisForgotIsNotTold(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm, to := streaming(t, rdb, setup{packets: 3})
			lose, drop := gm.lose, gm.drop(0)
			to.after = lose
			gm.want("p", drop, Unavailable)
			if n := len(to.entries()); n != 1 {
				t.Fatalf("%d entries were published", n)
			}

			rebuild := func(wins ...known) {
				if err := gm.g.Restore(context.Background(), gm.c, 0, gm.restoration(0, wins)); err != nil {
					t.Error(err)
				}
				gm.apply()
			}
			then := func(after func()) {
				to.mu.Lock()
				defer to.mu.Unlock()
				to.after = after
			}
			// Rebuilt by one who has read the stream before: the win is not there, and its packet is another's.
			rebuild()
			then(func() { lose(); rebuild() })
			gm.want("q", drop, Unavailable)
			// Rebuilt by one who has read the stream afterwards: the win is there, and is told.
			then(func() {
				lose()
				all := to.entries()
				last := all[len(all)-1]
				rebuild(known{last.Wins[0], last.Ref})
			})
			won := gm.want("r", drop, Won)
			then(nil)
			if r := tapOn(gm.node().Gate(gm.c), "r", drop); r != won || won.Packet != 0 {
				t.Errorf("%v and %v, want packet 0 both times", won, r)
			}
			gm.want("q", drop, Won)
		})
	}
}

// go-redis asks again when an answer is lost, and the script then gives what it has decided: old wins to this node.
func TestALostAnswerIsConfirmedToo(t *testing.T) {
	cut := newCutter(t, testenv.Redis(t))
	gm, to := streaming(t, connect(t, cut.addr()), setup{packets: 10})
	cut.loseAnswer()
	gm.want("p", gm.drop(0), Won)
	if lost := cut.lost(); lost != 1 {
		t.Fatalf("%d answers were lost", lost)
	}
	if got, outbox := to.entries(), gm.outbox(); !reflect.DeepEqual(got, outbox) || len(outbox) != 1 {
		t.Errorf("published %+v, the outbox holds %+v", got, outbox)
	}
}

// An entry that nobody can read is told by nobody, and holds nobody else up.
func TestAWinWhoseEntryCannotBeReadIsNotTold(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm, to := streaming(t, rdb, setup{packets: 10})
			drop := gm.drop(0)
			to.refuse(true)
			gm.want("p", drop, Unavailable)
			to.refuse(false)
			entry, k := gm.outbox()[0], gm.g.keys.shard(gm.c.ID, 0)
			// Its record points to an entry of another kind.
			id, err := rdb.XAdd(t.Context(), &redis.XAddArgs{Stream: k.outbox,
				Values: []string{"wins", "7 eleven 0.0 p"}}).Result()
			if err != nil {
				t.Fatal(err)
			}
			text := record{win: entry.Wins[0], entry: id}.text()
			if err := rdb.HSet(t.Context(), k.wins, "p", text).Err(); err != nil {
				t.Fatal(err)
			}
			results := gm.batchOf([2]string{"p", drop}, [2]string{"q", drop})
			if results[0].Outcome != Unavailable || results[1].Outcome != Won {
				t.Errorf("%v, want unavailable and won", results)
			}
			if got := gm.confirmed("p"); got != nil {
				t.Errorf("told of %v", got)
			}
		})
	}
}

// A stream that does not answer holds up the taps for one time-out, and not one after the other.
func TestAHungStreamKeepsNobodyWaiting(t *testing.T) {
	const players = 2*maxBatch + 1
	gm, to := streaming(t, inProcess(t), setup{packets: players})
	first := make(chan struct{})
	var once sync.Once
	release := make(chan struct{})
	to.before = func(ctx context.Context, _ rain.Entry) error {
		if _, limited := ctx.Deadline(); !limited {
			t.Error("nothing ends the waiting")
		}
		once.Do(func() { close(first) })
		<-release
		return errStream
	}
	drop := gm.drop(0)
	var all sync.WaitGroup
	var mu sync.Mutex
	outcomes := map[Outcome]int{}
	tapOnce := func(user string) {
		all.Add(1)
		ask(gm.gate, user, drop, func(r Result) {
			defer all.Done()
			mu.Lock()
			defer mu.Unlock()
			outcomes[r.Outcome]++
		})
	}
	tapOnce("first")
	<-first // all others wait behind it
	for p := range players - 1 {
		tapOnce(fmt.Sprint("p", p))
	}
	close(release)
	all.Wait()
	if outcomes[Unavailable] != players {
		t.Errorf("outcomes %v, want all unavailable", outcomes)
	}
	if n := len(gm.wins()); n != 1 {
		t.Errorf("%d batches went on to Redis, want the first", n)
	}
}
