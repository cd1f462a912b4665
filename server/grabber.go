package server

import (
	"redrain/grab"
	"redrain/grab/confirm"
	"redrain/grab/store"
	"redrain/server/gateway"
)

// grabber is all of Redis that this package uses: each of the small types does one job.
type grabber struct {
	*store.Store
	*store.Stock
	*store.Sums
	*store.Restorer
	*store.Ranking
	*store.Nodes
	*store.Wins
	*store.Limits
	*store.Marks
	*confirm.Outbox
	*confirm.Confirmer
	*grab.Gates[gateway.Asked]
}

// newGrabber makes one whose wins are told to answer.
func newGrabber(s *store.Store, c *confirm.Confirmer, answer grab.Answer[gateway.Asked], o grab.Options) *grabber {
	return &grabber{
		Store: s, Stock: store.NewStock(s), Sums: store.NewSums(s), Restorer: store.NewRestorer(s),
		Ranking: store.NewRanking(
			s,
		), Nodes: store.NewNodes(s), Wins: store.NewWins(s), Limits: store.NewLimits(s), Marks: store.NewMarks(s),
		Outbox: confirm.NewOutbox(c), Confirmer: c, Gates: grab.NewGates(s, c, answer, o),
	}
}
