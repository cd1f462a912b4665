package pipeline

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestSettlerWithEightWorkers is the same with the real thing: eight workers pull from JetStream, where each
// entry is three times, and more come while they work.
func TestSettlerWithEightWorkers(t *testing.T) {
	t.Parallel()
	p := onServers(t)
	const entries, wins, budget = 150, 8, 150 * 8 * paytest.CrowdAmount
	p.OpenCampaign(t, "c1", rain.Spec{Budget: budget, Packets: entries * wins})
	all, paid := paytest.Crowd("c1", entries, wins)
	var log paytest.Logbook
	p.DB.Log = slog.New(&log)
	p.publish(t, 2, all...)
	s := NewSettler(p.js, p.Seals.Ring(), p.Poster, p.DeadLetters, p.redis, p.told, SettlerOptions{
		Namespace: p.namespace, Workers: 8, BatchWins: 64, Log: slog.New(&log),
		Alarms: Alarms{OnDead: func(d []posting.DeadLetter) { t.Errorf("dead: %+v", d) }},
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer cancel()
	r := rand.New(rand.NewPCG(5, 5))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	p.publish(t, 1, all...)
	testenv.Eventually(t, 60*time.Second, "every copy is acknowledged", func() bool {
		info := p.consumer(t)
		return info.NumPending == 0 && info.NumAckPending == 0
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	log.CheckQuiet(t)
	log.CheckOrder(t)
	if n := p.told.Distinct(); n != entries*wins {
		t.Errorf("%d claims were told", n)
	}
	p.WantPaid(t, "c1", budget, entries*wins, paid)
}
