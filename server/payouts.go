package server

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"redrain/payout/ledger/posting"
	"redrain/payout/pipeline"
	"redrain/rain"
	"redrain/server/campaigns"
	"redrain/server/cluster"
)

func (s *Server) buildPayout(js jetstream.JetStream, bus *cluster.Bus, now rain.Clock, reg prometheus.Registerer,
	log *slog.Logger) error {
	if err := errors.Join(s.ledger.DeadLetters.Register(reg), s.books.Register(reg)); err != nil {
		return err
	}
	s.notifier = cluster.NewNotifier(s.grabber, s.grabber, bus, log)
	s.settler = pipeline.NewSettler(js, s.ledger.Poster, s.ledger.DeadLetters, s.grabber, s.notifier,
		pipeline.SettlerOptions{
			Namespace: s.cfg.Namespace, Clock: now, Guard: s.guard, Log: log, Registerer: reg,
			Attempts: s.cfg.PayoutAttempts, Alarms: payoutAlarms(bus),
		})
	return nil
}

// payoutAlarms tells operators what a person should know of payouts.
func payoutAlarms(bus *cluster.Bus) pipeline.Alarms {
	return pipeline.Alarms{
		OnCut: func(cuts []posting.ReclaimCut) {
			for _, c := range cuts {
				bus.Alarm("reclaim_cut", c.Ref.Campaign, c.Reason)
			}
		},
		OnAdvisory: func(a pipeline.Advisory) {
			bus.Alarm(string(a.Kind), "",
				fmt.Sprintf("JetStream does not deliver message %d of stream %s any more, after %d deliveries: %s",
					a.StreamSeq, a.Stream, a.Deliveries, cmp.Or(a.Reason, "no reason was given")))
		},
		OnDead: func(letters []posting.DeadLetter) {
			for _, d := range letters {
				bus.Alarm("dead_letter", d.Campaign, "a payout waits for a person: "+d.Reason)
			}
		},
		OnVoid: func(letters []posting.DeadLetter) { campaigns.AlarmVoid(bus, letters) },
	}
}
