package grab

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/testenv"
	"redrain/rain"
)

// twoShards is a node with two shards. The first has a fake script and a player.
func twoShards(t *testing.T, s *fakeScript) (*bench, string) {
	t.Helper()
	b := newShardedBench(t, &fakeConfirmer{immediate: true}, s, &fakeScript{})
	return b, playerOf(0, "p")
}

// playerOf is a player whose home is that of two shards.
func playerOf(shard int, name string) string {
	for rain.HomeShard(name, 2) != shard {
		name += "'"
	}
	return name
}

// after lets so much fake time pass, and all that happens in it.
func after(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // fake time
	synctest.Wait()
}

// A tap on a empty shard is asked again when stock has come.
func TestADryTapWaitsForStock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeScript{}
		b, p := twoShards(t, s)
		b.tap(p, "0.0", "p1")
		after(shortageTime - time.Millisecond)
		b.wantTold(t)
		testenv.Equal(t, b.empty, []int{1}, "taps that wait for stock")
		s.restock(1)
		b.gate.Restocked(1) // the other shard
		synctest.Wait()
		b.wantTold(t)
		b.gate.Restocked(0)
		synctest.Wait()
		b.wantTold(t, "p1 won")
		for _, nonsense := range []int{-1, 2, 7} { // does no harm
			b.gate.Restocked(nonsense)
		}
	})
}

// If no stock comes, the result is empty after the waiting time, to the millisecond. Calls in between change nothing.
func TestADryTapIsEmptyInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeScript{}
		b, p := twoShards(t, s)
		b.tap(p, "0.0", "p1")
		after(shortageTime / 3)
		b.tap(playerOf(0, "q"), "0.0", "q1")
		b.gate.Restocked(0) // by nothing: another node was faster
		after(shortageTime * 2 / 3)
		b.wantTold(t, "p1 empty")
		after(shortageTime/3 - time.Millisecond)
		b.wantTold(t)
		after(time.Millisecond)
		b.wantTold(t, "q1 empty")
		if n := len(s.sent); n < 3 || n > 4 {
			t.Errorf("asked %d times: %q", n, s.sent)
		}
		testenv.Equal(t, b.gate.UnderWay(), 0, "taps are in flight for ever")
		// The goroutine that waited is gone, and comes again.
		b.tap(p, "0.1", "p2")
		after(shortageTime)
		b.wantTold(t, "p2 empty")
	})
}

// A tap that was asked again in vain comes back behind one that waits since later. Its time ends first all the same.
func TestADryTapThatComesBackKeepsItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeScript{hold: make(chan struct{})}
		b, p := twoShards(t, s)
		b.tap(p, "0.0", "p1")
		s.hold <- struct{}{}
		after(shortageTime / 3)
		b.tap(playerOf(0, "q"), "0.0", "q1")
		synctest.Wait() // q1 is in the script, so p1 is asked after it
		b.gate.Restocked(0)
		synctest.Wait()
		s.hold <- struct{}{}
		synctest.Wait() // q1 waits
		close(s.hold)
		after(shortageTime - shortageTime/3)
		b.wantTold(t, "p1 empty")
		after(shortageTime / 3)
		b.wantTold(t, "q1 empty")
	})
}

// Stock that comes while the script's answer is in flight is not missed.
func TestStockThatCameJustBeforeIsNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeScript{hold: make(chan struct{})}
		b, p := twoShards(t, s)
		b.tap(p, "0.0", "p1")
		synctest.Wait()
		b.gate.Restocked(0) // no tap waits yet
		s.hold <- struct{}{}
		s.restock(1)
		close(s.hold)
		synctest.Wait()
		b.wantTold(t, "p1 won")
	})
}

// When the campaign is sold out, waiting taps get that result at once. So do taps that come back from the script.
func TestSoldOutEndsADrought(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeScript{}
		b, p := twoShards(t, s)
		b.tap(p, "0.0", "p1")
		b.tap(p, "0.0", "p2")
		b.tap(p, "0.1", "p3")
		synctest.Wait()
		began := time.Now()
		b.gate.SoldOut(rain.LanePlayers)
		synctest.Wait()
		b.wantTold(t, "p1 sold_out", "p2 sold_out", "p3 sold_out")
		testenv.Equal(t, b.tap(p, "0.2", ""), "sold_out", "sold out")
		testenv.Equal(t, time.Since(began), 0, "it took")
		b.gate.Restored()
		testenv.Equal(t, b.tap(p, "0.2", "p4"), "", "restored, and still sold out")
		after(shortageTime)
		b.wantTold(t, "p4 empty")
	})
}

// A gate may miss the notice that stock is back. Then a new rain ends sold_out, and so does a node that sees stock.
func TestSoldOutEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeScript{stock: 2}
		b := newBench(t, s, &fakeConfirmer{immediate: true})
		b.gate.SoldOut(rain.LanePlayers)
		c := b.gate.view.Load().campaign.Clone()
		c.Revision++
		b.gate.Update(c)
		testenv.Equal(t, b.tap("p", "0.0", ""), "sold_out", "a newer version in the same rain")
		b.gate.InStock(rain.LanePlayers)
		b.tap("p", "0.0", "p1")
		synctest.Wait()
		b.wantTold(t, "p1 won")
		b.gate.SoldOut(rain.LanePlayers)
		c = c.Clone()
		next := *c.Current()
		next.ID, next.FirstWave = "r2", next.FirstWave+next.Waves()
		c.Rains, c.Revision = append(c.Rains, next), c.Revision+1
		b.gate.Update(c)
		b.tap("q", rain.DropID{N: next.FirstWave}.String(), "q1")
		synctest.Wait()
		b.wantTold(t, "q1 won")
	})
}

// If nothing was sold out, a report of stock wakes no tap. The node that brings stock notifies the waiting taps.
func TestStockThatIsSeenWakesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeScript{}
		b, p := twoShards(t, s)
		b.tap(p, "0.0", "p1")
		synctest.Wait()
		b.gate.InStock(rain.LanePlayers)
		synctest.Wait()
		testenv.Equal(t, len(s.sent), 1, "asked %q", s.sent)
		after(shortageTime)
		b.wantTold(t, "p1 empty")
	})
}

// Many taps of one player do not wait for one shortage after the other.
func TestADroughtIsWaitedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, p := twoShards(t, &fakeScript{})
		var want []string
		for i := range 10 {
			name := fmt.Sprint("p", i)
			b.tap(p, fmt.Sprintf("0.%d", i), name)
			want = append(want, name+" empty")
		}
		after(shortageTime)
		b.wantTold(t, want...)
	})
}

// Close ends a shortage: no tap waits for stock that cannot come any more.
func TestCloseEndsADrought(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, p := twoShards(t, &fakeScript{})
		b.tap(p, "0.0", "p1")
		b.tap(p, "0.0", "p2")
		b.tap(p, "0.1", "p3")
		synctest.Wait()
		began := time.Now()
		b.gates.Close()
		b.gates.Close()
		b.wantTold(t, "p1 empty", "p2 empty", "p3 unavailable")
		testenv.Equal(t, time.Since(began), 0, "closing took")
	})
}

// If Redis is away when a waiting tap is retried, the tap may have been decided: it is sent once more.
func TestADryTapMayFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeScript{}
		b, p := twoShards(t, s)
		b.tap(p, "0.0", "p1")
		synctest.Wait()
		s.err = errors.New("away")
		b.gate.Restocked(0)
		synctest.Wait()
		b.wantTold(t, "p1 unavailable")
		b.gate.SoldOut(rain.LanePlayers)
		testenv.Equal(t, b.tap(p, "0.0", "p2"), "", "sold out is no answer to one who may have won")
		synctest.Wait()
		b.wantTold(t, "p2 unavailable")
	})
}

// The gate asks the script for a win that the player may not be notified of yet, also when the campaign is sold out.
func TestAnUnsureWinIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, &fakeScript{stock: 1}, &fakeConfirmer{immediate: true})
		b.gate.SoldOut(rain.LanePlayers)
		b.gate.RememberUnsure("p", nil)
		b.gate.RememberUnsure("p", []rain.Win{{User: "p", Packet: 3, Drop: "0.0"}, {User: "p", Drop: "no drop"}})
		testenv.Equal(t, b.tap("p", "0.1", ""), "sold_out", "another drop")
		testenv.Equal(t, b.tap("p", "0.0", "p1"), "", "sold out is no answer to one who has won")
		synctest.Wait()
		b.wantTold(t, "p1 won")
	})
}

// Taps that wait while another rain is scheduled are late: the script is asked about drops of the newest rain only.
func TestTapsOfAnOlderRainAreLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeScript{stock: 9, hold: make(chan struct{})}
		b := newBench(t, s, &fakeConfirmer{immediate: true})
		b.tap("p", "0.0", "p1")
		synctest.Wait()
		b.tap("q", "0.0", "q1")
		b.tap("p", "0.1", "p2")
		c := b.gate.view.Load().campaign.Clone()
		next := *c.Current()
		next.ID, next.FirstWave, next.StartsAt = "r2", next.FirstWave+next.Waves(), 1_000
		c.Rains, c.Revision = append(c.Rains, next), c.Revision+1
		b.gate.Update(c)
		b.tap("r", rain.DropID{N: next.FirstWave}.String(), "r1")
		close(s.hold)
		synctest.Wait()
		slices.Sort(b.told)
		b.wantTold(t, "p1 won", "p2 late", "q1 late", "r1 won")
		if got := strings.Join(s.sent, ","); strings.Contains(got, "q 0.0") || strings.Contains(got, "p 0.1") {
			t.Errorf("sent %s", got)
		}
		none := c.Clone()
		none.Revision, none.Rains = none.Revision+1, nil
		b.tap("s", rain.DropID{N: next.FirstWave}.String(), "s1")
		b.gate.Update(none)
		synctest.Wait()
		b.gates.Close()
		testenv.Equal(t, len(b.told), 1, "results %q", b.told)
	})
}
