package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/seal"
	"redrain/internal/testenv"
	"redrain/payout"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// stranger has the seal key of another installation.
var stranger = seal.NewRing(seal.Secret{66})

// wantForged fails the test unless the counter of forgeries is n.
func wantForged(t *testing.T, reg *prometheus.Registry, n int) {
	t.Helper()
	const name = "redrain_forged_total"
	want := fmt.Sprintf("# HELP %s Messages, wins and reclaims that no node of this installation has sealed.\n"+
		"# TYPE %s counter\n%s %d\n", name, name, name, n)
	testenv.Must(t, testutil.GatherAndCompare(reg, strings.NewReader(want), name))
}

// TestMessagesThatNobodyHasSent: forged, altered, sealed with another key, on another subject, or sealed and invalid.
// Each is a dead letter at once, with an alarm. None is paid, and none delays valid messages.
func TestMessagesThatNobodyHasSent(t *testing.T) {
	t.Parallel()
	for name, back := range backEnds {
		t.Run(name, func(t *testing.T) {
			p, c := opened(t, back, rain.Spec{Budget: 100, Packets: 10, Shards: 2})
			reg := prometheus.NewRegistry()
			p.node(t, quick, SettlerOptions{Registerer: reg})
			s := newStream(p.js, p.namespace, paytest.Ring)
			testenv.Eventually(t, time.Minute, "the stream is there", func() bool {
				_, err := p.js.Stream(t.Context(), s.name())
				return err == nil
			})
			good := paytest.Entry("c1", 1, paytest.Win(paytest.Home("u", 0, 2), 0, 0))
			text := payout.EncodeEntry(good)
			sealed := string(payout.SealMessage(paytest.Ring, text))
			const home = "c1.0"
			n, forged := 0, 0
			for _, message := range []struct {
				what, subject, data string
				sealed              bool
			}{
				{"nothing", home, "", false},
				{"noise", home, "\xff", false},
				{"an entry as it was once", home, `{"ref":{"campaign":"c1","shard":0,"id":"1-0"}}`, false},
				{"an entry without a seal", home, string(text), false},
				{"another player", home, strings.Replace(sealed, " u", " v", 1), false},
				{"another packet", home, strings.Replace(sealed, "\n0-0\n", "\n1-1\n", 1), false},
				{"cut off", home, sealed[:len(sealed)-1], false},
				{"of another installation", home, string(payout.SealMessage(stranger, text)), false},
				{"on another shard's subject", "c1.1", sealed, true},
				{"on another campaign's subject", "c2.0", sealed, true},
				{"on a longer subject", "c1.0.0", sealed, true},
				{"sealed nonsense", home, string(payout.SealMessage(paytest.Ring, []byte("nonsense"))), true},
				{"a sealed id that is none", home, string(payout.SealMessage(paytest.Ring,
					[]byte(strings.Replace(string(text), "1-0",
						"01-0", 1)))), true},
			} {
				testenv.Must(t, testenv.Err(p.js.Publish(t.Context(), p.namespace+".payout."+message.subject,
					[]byte(message.data))))
				n++
				if !message.sealed {
					forged++
				}
				campaign, _, _ := strings.Cut(message.subject, ".")
				if d := <-p.dead; d.Kind != posting.LetterMessage || d.Campaign != campaign || d.Reason == "" ||
					strings.Contains(d.Reason, "invalid seal") == message.sealed {
					t.Errorf("%s: %+v", message.what, d)
				}
			}
			wantForged(t, reg, forged)
			p.redis.Win("c1", 0, "u1")
			p.eventuallySettled(t, 10*time.Second, c, 1)
			testenv.Equal(t, p.CountDead(t), n, "dead letters")
			if info := p.consumer(t); info.NumAckPending != 0 || info.NumPending != 0 {
				t.Errorf("messages are left: %+v", info)
			}
			p.WantBalance(t, booking.UserAccount(paytest.Home("u", 0, 2)), 0)
			p.CheckBooks(t)
		})
	}
}

// TestForgedEntries: a forged entry in the outbox of Redis becomes a dead letter of kind forged, is counted and
// raises an alarm. It is removed from the outbox, and valid entries are paid.
func TestForgedEntries(t *testing.T) {
	t.Parallel()
	p, c := opened(t, inProcess, rain.Spec{Budget: 100, Packets: 10})
	forge := func(id string, change func(*rain.Entry)) {
		e := paytest.Entry("c1", 1, paytest.Win("thief", 9, 0))
		e.Ref.ID = id
		change(&e)
		shard := p.redis.Shards[paytest.FakeKey{Campaign: "c1"}]
		shard.Entries = append(shard.Entries, e)
	}
	p.redis.Win("c1", 0, "u1")
	forge("7-0", func(e *rain.Entry) { e.Wins[0].Seal = "made up" })
	forge("8-0", func(e *rain.Entry) { *e = paytest.SealWith(stranger, *e) })
	forge("9-0", func(e *rain.Entry) {
		e.Wins, e.Reclaim = nil, &rain.Reclaim{Numbers: paytest.Packets(0, 9), Seal: "made up"}
	})
	p.redis.Win("c1", 0, "u2")
	reg := prometheus.NewRegistry()
	p.node(t, quick, SettlerOptions{Registerer: reg})
	for range 3 {
		if d := <-p.dead; d.Kind != posting.LetterForged {
			t.Errorf("%+v", d)
		}
	}
	p.eventuallySettled(t, time.Minute, c, 2)
	wantForged(t, reg, 3)
	p.WantBalance(t, booking.EscrowAccount("c1"), 80)
	if got := p.Prove(t, c, p.redis); got.Difference != 0 || got.Dead != 0 {
		t.Errorf("%+v", got)
	}
	p.CheckBooks(t)
}

// TestAFloodOfMessages: thousands of forged messages are in the stream, and more come. Valid ones are settled
// meanwhile, and only a limited number of forged ones is kept.
func TestAFloodOfMessages(t *testing.T) {
	t.Parallel()
	p, c := opened(t, inProcess, rain.Spec{Budget: 100, Packets: 10})
	p.stream(t)
	const flood = 3000
	for n := range flood {
		testenv.Must(t, testenv.Err(p.js.PublishAsync(p.namespace+".payout.c1.0", fmt.Appendf(nil, "flood %d", n))))
	}
	reg := prometheus.NewRegistry()
	var alarms, dropped atomic.Int64
	p.run(t, p.settlerOn(p.Poster, SettlerOptions{Registerer: reg, Alarms: Alarms{OnForged: func(f Forged) {
		alarms.Add(int64(len(f.Letters)))
		dropped.Add(int64(f.Discarded))
	}}}))
	p.redis.Win("c1", 0, "u1")
	entries := testenv.Got(p.redis.Oldest("c1", 0, 10)).Must(t)
	p.publish(t, 1, entries...)
	p.eventuallySettled(t, time.Minute, c, 1)
	testenv.Eventually(t, time.Minute, "all are dealt with", func() bool {
		info := p.consumer(t)
		return info.NumPending == 0 && info.NumAckPending == 0
	})
	wantForged(t, reg, flood)
	if n := p.CountDead(t); n != int(alarms.Load()) || n < 900 || n > 1100 {
		t.Errorf("%d dead letters are kept, %d alarms", n, alarms.Load())
	}
	if n := alarms.Load() + dropped.Load(); n != flood {
		t.Errorf("%d forgeries are reported", n)
	}
}

// TestANodeLearnsOfANewKey: another node seals with a key that this one has not loaded. Its messages are settled at
// their first delivery.
func TestANodeLearnsOfANewKey(t *testing.T) {
	t.Parallel()
	p, c := opened(t, inProcess, rain.Spec{Budget: 100, Packets: 10})
	other := paytest.Node(t, p.Books)
	p.Clock.Add(60_000)
	testenv.Must(t, testenv.Err(other.Seals.Rotate(t.Context())))
	s := p.stream(t)
	e := paytest.SealWith(other.Seals.Ring(), paytest.Entry("c1", 1, paytest.Win("u1", 0, 0)))
	testenv.Must(t, testenv.Err(p.js.Publish(t.Context(), s.subject(e.Ref), payout.SealMessage(other.Seals.Ring(),
		payout.EncodeEntry(e)))))
	reg := prometheus.NewRegistry()
	p.settler(t, SettlerOptions{Registerer: reg}, func([]rain.Entry) error { return nil })
	p.eventuallySettled(t, ackWait/2, c, 1)
	wantForged(t, reg, 0)
	testenv.Equal(t, p.CountDead(t), 0, "dead letters")
}

// keyless is a ledger whose keys cannot be read for a while.
type keyless struct {
	*posting.Poster
	tries atomic.Int64
}

func (l *keyless) RefreshSeals(ctx context.Context) error {
	if l.tries.Add(1) < 3 {
		return errors.New("no database")
	}
	return l.Poster.RefreshSeals(ctx)
}

// TestWithoutTheKeysNothingIsForged: while the database is unreachable, no message counts as forged.
func TestWithoutTheKeysNothingIsForged(t *testing.T) {
	t.Parallel()
	p := inProcess(t)
	p.stream(t)
	testenv.Must(t, testenv.Err(p.js.Publish(t.Context(), p.namespace+".payout.c1.0", []byte("no entry"))))
	ledger := &keyless{Poster: p.Poster}
	p.run(t, p.settlerOn(ledger, SettlerOptions{Workers: 1}))
	if d := <-p.dead; d.Kind != posting.LetterMessage || ledger.tries.Load() != 3 {
		t.Errorf("%+v after %d tries", d, ledger.tries.Load())
	}
}
