package server

import (
	"redrain/grab/confirm"
	"redrain/grab/store"
	"redrain/payout/ledger/chain"
	"redrain/server/campaigns"
	"redrain/server/config"
)

// buildCampaigns makes the operators' commands and the loops that finish them.
func (s *Server) buildCampaigns() {
	stock := store.NewStock(s.redis)
	s.service = campaigns.NewService(campaigns.ServiceOptions{
		Ledger: s.ledger.Campaigns, Stock: stock, Known: s.registry, Bus: s.bus, Clock: s.clock.Now, Log: s.log,
	})
	s.mover = campaigns.NewMover(campaigns.MoverOptions{
		Stock: confirm.NewMoves(s.confirmer), Ledger: s.ledger.Moves, Sums: store.NewSums(s.redis),
		Leases: s.ledger.Leases,
		Known:  s.registry, Bus: s.bus, Node: s.node, Recoverer: s.recoverer, Clock: s.clock.Now, Log: s.log,
		Registerer: s.metrics,
	})
	s.odds = campaigns.NewOdds(campaigns.OddsOptions{
		Service: s.service, Sums: store.NewSums(s.redis), Nodes: store.NewNodes(s.redis), Leases: s.ledger.Leases,
		Known: s.registry, Bus: s.bus, Node: s.node, Recoverer: s.recoverer, Clock: s.clock.Now, Log: s.log,
		Registerer: s.metrics,
	})
	s.reclaimer = campaigns.NewReclaimer(campaigns.ReclaimerOptions{
		Service: s.service, Ledger: s.ledger.Campaigns, Leases: s.ledger.Leases, Stock: stock, Outbox: s.outbox,
		Known: s.registry, Bus: s.bus, Clock: s.clock.Now, Node: s.node, KeepFor: drainedKept, Recoverer: s.recoverer,
		Log: s.log,
	})
	s.rebuilder = campaigns.NewRebuilder(campaigns.RebuilderOptions{
		Service: s.service, Campaigns: s.ledger.Campaigns, Ledger: s.ledger.Rebuilds, Stream: s.settler,
		Outbox: store.NewOutbox(s.redis), Wins: store.NewWins(s.redis), Letters: s.ledger.Poster,
		Restorer: store.NewRestorer(s.redis), Leases: s.ledger.Leases, Node: s.node,
		Bus: s.bus, Recoverer: s.recoverer, Log: s.log,
	})
	rebuild := s.rebuilder.Rebuild
	if s.cfg.ConfirmMode() != confirm.Stream.String() {
		rebuild = nil
	}
	s.loop = campaigns.NewReconcileLoop(campaigns.ReconcileLoopOptions{
		Service: s.service, Known: s.registry, Bus: s.bus, Rebuild: rebuild, Recoverer: s.recoverer, Clock: s.clock.Now,
		Log: s.log,
	})
	s.watch = campaigns.NewWatch(campaigns.WatchOptions{
		Seen: s.ledger.Moves, Loser: store.NewMoves(s.redis), Sums: store.NewSums(s.redis), Known: s.registry,
		Bus: s.bus, Recoverer: s.recoverer, Log: s.log, Registerer: s.metrics,
	})
	s.proofs = campaigns.NewProofs(campaigns.ProofsOptions{
		Books: s.books, Campaigns: s.ledger.Campaigns, Kept: s.ledger.Proofs, Leases: s.ledger.Leases,
		Hot: hot{store.NewSums(s.redis), store.NewWins(s.redis)}, Node: s.node, Every: s.cfg.ReconcileEvery,
		Share: s.cfg.ReconcileShare,
		Alarm: s.bus.Alarm, Recoverer: s.recoverer, Clock: s.clock.Now, Log: s.log,
	})
	s.roots = chain.NewRootRounds(s.ledger.Roots, s.cfg.AuditRootFile, s.recoverer, s.log)
	if s.cfg.Demo && s.cfg.InProcess() && s.cfg.Has(config.RoleOperator) {
		s.demo = campaigns.NewDemo(campaigns.DemoOptions{
			Service: s.service, Campaigns: s.ledger.Campaigns, Sponsors: s.ledger.Sponsors,
			Sums: store.NewSums(s.redis), Known: s.registry, Members: s.members, Recoverer: s.recoverer,
			Clock: s.clock.Now, Log: s.log,
		})
	}
}

// hot is what Redis holds of a campaign's money, as the proof of the books reads it.
type hot struct {
	*store.Sums
	*store.Wins
}
