package server

import (
	"context"

	"redrain/grab/confirm"
	"redrain/grab/store"
	"redrain/payout/ledger/chain"
	"redrain/rain"
	"redrain/server/campaigns"
	"redrain/server/config"
)

// buildCampaigns builds the operators' commands and the loops that complete them.
func (s *Server) buildCampaigns() {
	node := campaigns.Node{Name: s.node, Leases: s.ledger.Leases, Known: s.registry, Bus: s.bus, Clock: s.clock.Now,
		Recoverer: s.recoverer, Log: s.log, Registerer: s.metrics}
	stock, sums := store.NewStock(s.redis), store.NewSums(s.redis)
	s.service = campaigns.NewService(campaigns.ServiceOptions{Node: node, Ledger: s.ledger.Campaigns, Stock: stock})
	s.mover = campaigns.NewMover(campaigns.MoverOptions{
		Node: node, Stock: confirm.NewMoves(s.confirmer), Ledger: s.ledger.Moves, Sums: sums,
	})
	s.odds = campaigns.NewOdds(campaigns.OddsOptions{
		Node: node, Service: s.service, Sums: sums, Nodes: store.NewNodes(s.redis),
	})
	s.reclaimer = campaigns.NewReclaimer(campaigns.ReclaimerOptions{
		Node: node, Service: s.service, Ledger: s.ledger.Campaigns, Stock: stock, Outbox: s.outbox,
		KeepFor: drainedKept,
	})
	s.rebuilder = campaigns.NewRebuilder(campaigns.RebuilderOptions{
		Node: node, Service: s.service, Campaigns: s.ledger.Campaigns, Ledger: s.ledger.Rebuilds, Stream: s.settler,
		Outbox: store.NewOutbox(s.redis), Wins: store.NewWins(s.redis), Letters: s.ledger.Poster,
		Restorer: store.NewRestorer(s.redis), Epochs: s.confirmer, Check: s.installed.Look,
	})
	rebuild := s.rebuilder.Rebuild
	if s.cfg.ConfirmMode() != confirm.Stream.String() {
		rebuild = nil
	}
	s.loop = &campaigns.ReconcileLoop{Node: node, Service: s.service, Rebuild: rebuild}
	s.watch = campaigns.NewWatch(campaigns.WatchOptions{
		Node: node, Seen: s.ledger.Moves, Loser: store.NewMoves(s.redis), Sums: sums, Holder: s.confirmer,
	})
	s.proofs = campaigns.NewProofs(campaigns.ProofsOptions{
		Node: node, Books: s.books, LiveIDs: s.ledger.Campaigns.LiveIDs, Kept: s.ledger.Proofs,
		Live: liveState{sums, store.NewWins(s.redis), s.confirmer}, Every: s.cfg.ReconcileEvery,
		Share: s.cfg.ReconcileShare,
	})
	s.roots = chain.NewRootRounds(s.ledger.Roots, s.cfg.AuditRootFile, s.recoverer, s.log)
	if s.cfg.Demo && s.cfg.InProcess() && s.cfg.Has(config.RoleOperator) {
		s.demo = &campaigns.Demo{
			Node: node, Service: s.service, Campaigns: s.ledger.Campaigns, Deposit: s.ledger.Sponsors.Deposit,
			Levels: sums.Levels, Members: s.members,
		}
	}
}

// liveState reads a campaign's money in Redis for the reconciliation.
type liveState struct {
	*store.Sums
	*store.Wins

	confirmer *confirm.Confirmer
}

// Snapshot is that of Sums. The stock of an old master is not counted: the shard's present one is on another Redis.
func (l liveState) Snapshot(ctx context.Context, c *rain.Campaign) ([]rain.ShardSnapshot, error) {
	shards, err := l.Sums.Snapshot(ctx, c)
	for i, s := range shards {
		if l.confirmer.IsSuperseded(c.ID, s.Shard) && l.confirmer.Holds(ctx, c.ID, s.Shard) != nil {
			shards[i] = rain.ShardSnapshot{Shard: s.Shard, Unread: "this node's redis has an old copy of it, and " +
				"another one holds it; reconcile on another node, or when this node follows the other redis"}
		}
	}
	return shards, err
}
