package live

import (
	"context"

	"redrain/internal/wire"
	"redrain/room"
	"redrain/server/cluster"
)

const (
	// tellingFor is the life of the right to add up the figures for all nodes, without a renewal.
	tellingFor = 2 * ReportEvery
	// heardMS is the age up to which another node's figures are new enough, in milliseconds.
	heardMS = 1_500
	// silentMS is the silence after which a node adds up the figures for its own players, in milliseconds: NATS is
	// away.
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

// publish adds up a campaign's figures, and sends them to its room and to the other nodes, unless another node does so.
// Otherwise each of hundreds of nodes would read the reports of all.
func (f *Figures) publish(ctx context.Context, rm *room.Room) {
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
		f.o.Log.Debug("take the right to add up the figures", "campaign", campaign, "err", err)
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
