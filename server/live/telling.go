package live

import (
	"context"

	"redrain/internal/wire"
	"redrain/room"
	"redrain/server/cluster"
)

const (
	// tellingFor is how long a node that adds up the figures for all keeps that when it falls silent.
	tellingFor = 2 * ReportEvery
	// heardMS is how long the figures that another node has told are new enough, in milliseconds.
	heardMS = 1_500
	// silentMS is after which silence a node adds up the figures for its own players, in milliseconds: NATS is away.
	silentMS = 4_000
)

// Heard shows a room the figures that another node has added up.
func (f *Figures) Heard(campaign string, n cluster.Figures) {
	if n.Node == f.o.Node {
		return
	}
	f.called(n.Nameless)
	rm := f.o.Lobby.Room(campaign)
	if rm == nil {
		return
	}
	f.mu.Lock()
	f.others[campaign] = f.o.Clock()
	f.mu.Unlock()
	f.show(rm, n)
}

func (f *Figures) show(rm *room.Room, n cluster.Figures) {
	for _, lane := range n.InStock {
		f.o.InStock(rm.Campaign(), lane)
	}
	n.Room.Type = wire.TypeRoom
	rm.Broadcast(room.Rain, wire.Encode(n.Room))
}

// tell adds up a campaign's figures, shows them to its room and tells the other nodes, unless another node does so:
// with hundreds of nodes each would else read the reports of all.
func (f *Figures) tell(ctx context.Context, rm *room.Room) {
	ctx, cancel := context.WithTimeout(ctx, ReportEvery)
	defer cancel()
	campaign := rm.Campaign()
	f.mu.Lock()
	silent := f.o.Clock() - f.others[campaign]
	f.mu.Unlock()
	if silent < heardMS {
		return
	}
	mine, err := f.o.Reports.TakeTelling(ctx, campaign, f.o.Node, tellingFor)
	if err != nil {
		f.o.Log.Debug("it cannot be said who tells the figures", "campaign", campaign, "err", err)
	}
	if !mine && silent < silentMS {
		return
	}
	figures, ok := f.sum(ctx, campaign)
	if !ok {
		return
	}
	f.called(figures.Nameless)
	f.show(rm, figures)
	if mine {
		f.o.Bus.Figures(campaign, figures)
	}
}
