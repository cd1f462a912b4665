package grab

import (
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/grab/confirm"
	"redrain/grab/outcome"
	"redrain/internal/testenv"
	"redrain/rain"
)

// A batch and its confirmation have two seconds. After that its players are asked to try again.
func TestABatchHasTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := &fakeScript{stock: 1}, &fakeConfirmer{}
		b := newBench(t, s, c)
		b.tap("p", "0.0", "p1")
		b.gates.Close()
		if s.within != 2*time.Second || c.within != 2*time.Second {
			t.Errorf("the script had %v, the confirmation %v", s.within, c.within)
		}
	})
}

// If a campaign has only one shard and that is empty, the campaign is sold out. With more shards, one empty shard
// proves nothing.
func TestOneShardIsTheCampaign(t *testing.T) {
	for _, c := range []struct {
		stock   int
		always  outcome.Outcome
		alone   bool
		soldOut bool
	}{
		{stock: 2, alone: true}, {stock: 1, alone: true, soldOut: true}, {stock: 1}, {stock: 0, alone: true,
			soldOut: true},
		{stock: 3, always: outcome.SoldOut, alone: true, soldOut: true}, {stock: 3, always: outcome.Already,
			alone: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			scripts := []*fakeScript{{stock: c.stock, always: c.always}, {}}
			if c.alone {
				scripts = scripts[:1]
			}
			b := newShardedBench(t, &fakeConfirmer{immediate: true}, scripts...)
			user := "p"
			for rain.HomeShard(user, len(scripts)) != 0 {
				user += "p"
			}
			b.tap(user, "0.0", "")
			synctest.Wait()
			testenv.Equal(t, b.gate.soldOut[rain.LanePlayers].Load(), c.soldOut, "%+v: sold out", c)
		})
	}
}

// The test covers the effect of a failure on the taps behind the batch. The log has the beginning and the end of it
// once.
func TestAFailureIsLoggedOnce(t *testing.T) {
	away := errors.New("away")
	var log strings.Builder
	s, c := &fakeScript{stock: 100}, &fakeConfirmer{}
	told, sent := "", 0
	d, _ := aShard(s, c, Options{Log: slog.New(slog.NewTextHandler(&log, nil)), OnWin: func(*rain.Entry) { sent++ }},
		func(taps []*Tap[string]) { told += taps[0].Result().Outcome.String() })
	const failing, good = `level=WARN msg="taps cannot be decided" campaign=c shard=0 err=`,
		`level=INFO msg="taps are decided again" campaign=c shard=0`
	for i, step := range []struct {
		script, confirmer error
		all, immediate    bool
		told              string
		lasts             int   // calls of Confirmed, by which the script detects a rolled-back Redis
		fails             error // with those that wait
		logged            string
	}{
		{all: true, told: "won", lasts: 1},
		{script: away, told: "unavailable", fails: away, logged: failing + "away"},
		{script: away, told: "unavailable", fails: away},
		{immediate: true, told: "won", lasts: 1, logged: good},
		{confirmer: away, told: "unavailable", fails: away, logged: failing + "away"},
		{confirmer: confirm.ErrForgotten, told: "unavailable"},
		{confirmer: away, all: true, told: "won", lasts: 1, fails: away}, // this one was in time
		{all: true, told: "won", lasts: 1, logged: good},
		{immediate: true, told: "won", lasts: 1},
	} {
		s.lasted, sent = 0, 0
		s.err, *c, told = step.script, fakeConfirmer{err: step.confirmer, all: step.all, immediate: step.immediate}, ""
		log.Reset()
		user := strconv.Itoa(i)
		err := d.decide([]*Tap[string]{{User: user, player: d.gate.stripe(user).add(user)}})
		if !errors.Is(err, step.fails) || told != step.told || s.lasted != step.lasts || sent != step.lasts {
			t.Errorf("step %d: %v, results %q, %d answers last, %d entries are published", i, err, told, s.lasted, sent)
		}
		if _, line, _ := strings.Cut(strings.TrimSpace(log.String()), " "); line != step.logged {
			t.Errorf("step %d: the log has %q, want %q", i, line, step.logged)
		}
	}
}

func TestBatchesAreMeasured(t *testing.T) {
	reg, c := prometheus.NewRegistry(), &fakeConfirmer{all: true}
	d, taps := aShard(&fakeScript{stock: 2}, c, Options{Registerer: reg}, func([]*Tap[string]) {}, "p", "q", "r")
	if err := d.decide(taps); err != nil || c.losers {
		t.Fatalf("%v; a loser was to be confirmed: %t", err, c.losers)
	}
	for _, tap := range d.answers.taps[:cap(d.answers.taps)] {
		if tap != nil {
			t.Fatal("a tap that is answered is kept for ever")
		}
	}
	families := testenv.Got(reg.Gather()).Must(t)
	want := map[string]float64{ // the sum of one sample is at least this
		"redrain_grab_batch_size": 3, "redrain_grab_script_seconds": 1e-9, "redrain_grab_confirm_seconds": 1e-9,
	}
	for _, f := range families {
		h := f.GetMetric()[0].GetHistogram()
		if least := want[f.GetName()]; h.GetSampleCount() != 1 || h.GetSampleSum() < least ||
			h.GetSampleSum() > max(least, 1) {
			t.Errorf("%s: %d samples, sum %v", f.GetName(), h.GetSampleCount(), h.GetSampleSum())
		}
		delete(want, f.GetName())
	}
	testenv.Equal(t, len(want), 0, "not measured: %v", want)
}

// A node works without any option, on the machine's own clock.
func TestOptionsMayBeLeftOut(t *testing.T) {
	s := &fakeScript{stock: 1}
	now := time.Now().UnixMilli()
	gates := newGates(func(string, int) script { return s }, &fakeConfirmer{immediate: true},
		func([]*Tap[string]) {}, Options{})
	gate := gates.Gate(&rain.Campaign{
		ID: "c", Status: rain.Open, Revision: 1,
		Spec: rain.Spec{Budget: 1, Packets: 1, Min: 1, Split: rain.Even, WinsPerUser: 1, Shards: 1},
		Rains: []rain.Rain{{
			ID: "r", StartsAt: now - 1_000,
			Settings: rain.Settings{DurationMS: 60_000, DropsPerSecond: 40, FallMS: 60_000},
		}},
	})
	tap := &Tap[string]{User: "p"}
	if r, known := gate.Tap(tap); known {
		t.Errorf("%v without asking", r)
	}
	gates.Close()
	testenv.Equal(t, tap.Result().Outcome, outcome.Won, "%v", tap.Result())
}

// Taps behind a failed batch get a result, too. They were never sent, so they cannot win.
func TestWhatWaitsBehindAFailureIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeScript{err: errors.New("away"), hold: make(chan struct{})}
		b := newBench(t, s, &fakeConfirmer{immediate: true})
		b.tap("p", "0.0", "p1")
		synctest.Wait() // it is away, alone
		b.tap("q", "0.0", "q1")
		b.tap("q", "0.0", "q2")
		close(s.hold)
		synctest.Wait()
		b.wantTold(t, "p1 unavailable", "q1 unavailable", "q2 unavailable")
		testenv.Equal(t, s.sent, []string{"p 0.0"}, "sent")
		b.gate.SoldOut(rain.LanePlayers)
		testenv.Equal(t, b.tap("p", "0.0", "p2"), "", "sold out is no answer to one who may have won")
		testenv.Equal(t, b.tap("q", "0.0", "q3"), "sold_out", "one who was not sent")
	})
}
