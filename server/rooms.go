package server

import (
	"context"

	"redrain/grab/store"
	"redrain/payout/ledger/standing"
	"redrain/rain"
	"redrain/server/admission"
	"redrain/server/alarms"
	"redrain/server/api"
	"redrain/server/cluster"
	"redrain/server/gateway"
	"redrain/server/history"
	"redrain/server/live"
	"redrain/server/presence"
)

// buildRooms builds the players' side of this node, in the order of dependencies.
func (s *Server) buildRooms() {
	tally := live.NewCounts()
	s.door = admission.NewDoor(admission.DoorOptions{
		Seats: store.NewAdmission(s.redis, store.AdmissionTimes{}), Known: s.known, Node: s.node,
		Recoverer: s.recoverer, Log: s.log, Registerer: s.metrics,
	})
	s.addresses = admission.NewCaps(admission.CapsOptions{
		Redis: store.NewAddresses(s.redis), Known: s.known, Node: s.node, Wins: s.cfg.AddressWins,
		Seats: s.cfg.AddressSeats, Exempt: s.cfg.Exempt(), Recoverer: s.recoverer, Log: s.log, Registerer: s.metrics,
	})
	s.buildNames()
	s.figures = live.NewFigures(live.FiguresOptions{
		Names: s.shownNames(),
		Node:  s.node, Sums: store.NewSums(s.redis), Reports: store.NewNodes(s.redis),
		Ranking: store.NewRanking(s.redis), Paid: s.ledger.Campaigns, Dead: s.ledger.DeadLetters, Known: s.known,
		Door:  s.door,
		Lobby: s.lobby, Counts: tally, Bus: s.bus, InStock: s.atLane((*gate).InStock), KeepFor: drainedKept,
		Recoverer: s.recoverer, Clock: s.clock.Now, Log: s.log,
	})
	s.recorder = history.NewRecorder(history.RecorderOptions{
		Table: history.NewTable(s.back.sql), Stats: s.figures, Leases: s.ledger.Leases, Live: s.known.Live,
		Alarm: s.bus.Alarm, Node: s.node, Recoverer: s.recoverer, Clock: s.clock.Now, Log: s.log, Registerer: s.metrics,
	})
	live.MeasureNear(s.metrics, s.known.Live, s.clock.Now)
	s.alarms = alarms.NewOpen(s.clock.Now, s.metrics)
	s.events = api.NewEvents(api.EventsOptions{
		Campaigns: s.known, Stats: s.figures, Alarms: s.alarms, Recoverer: s.recoverer, Clock: s.clock.Now, Log: s.log,
	})
	s.registry = cluster.NewRegistry(cluster.RegistryOptions{
		Source: s.ledger.Campaigns, Known: s.known, Recoverer: s.recoverer, Log: s.log,
		Changed: []func(*rain.Campaign){s.campaignChanged, s.schedule.Changed, s.events.Changed},
		InUse:   func(campaign string) bool { return s.lobby.Room(campaign) != nil || s.events.Watched(campaign) },
		Forgotten: func(campaign string) {
			s.gates.Drop(campaign)
			s.confirmer.Forget(campaign)
		},
	})
	s.bans = standing.NewSanctions()
	s.sanctions = cluster.NewMirror(cluster.MirrorOptions[standing.Sanction]{
		Part: "sanctions", Work: "read the bans; continuing with the cached ones",
		Read: func(ctx context.Context) ([]standing.Sanction, error) {
			return s.ledger.Sanctions.Refresh(ctx, s.bans)
		},
		Follow: func(_ context.Context, one standing.Sanction) error {
			s.gateway.Sanctioned(one)
			return nil
		},
		Recoverer: s.recoverer, Log: s.log,
	})
	s.lists = admission.NewLists(admission.ListsOptions{
		Source: s.ledger.Lists, Changed: s.screen, Recoverer: s.recoverer, Log: s.log, Registerer: s.metrics,
	})
	s.connections = presence.NewConnections(presence.ConnectionsOptions{
		Store: store.NewConnections(s.redis), Node: s.node, Most: s.cfg.PerUser,
		End: func(user string, n uint64) { s.gateway.TooMany(user, n) },
		Among: func(user string, nodes int) {
			s.gateway.Among(user, nodes)
			s.risk.Among(user, nodes)
		},
		Notify: s.bus.OnNodes, Recoverer: s.recoverer, Log: s.log, Registerer: s.metrics,
	})
	s.gateway = gateway.New(gateway.Options{
		Banned:      s.bans.Banned,
		MayPlay:     s.mayPlay,
		Risk:        s.risk,
		Ask:         s.askAtHello(),
		Profile:     s.profile(),
		Connections: s.connections,
		Door:        s.door, Addresses: s.addresses,
		Players: s.players, Campaigns: s.registry, Wins: s.confirmer, Claims: s.ledger.Claims,
		Amounts: s.amounts,
		Limits:  store.NewLimits(s.redis), Gate: func(c *rain.Campaign) gateway.Gate { return s.gates.Gate(c) },
		Lobby: s.lobby, Counts: tally,
		TapRate: s.cfg.TapRate, HelloRate: s.cfg.HelloRate, Arrivals: s.cfg.ArrivalsPerSecond,
		MaxConnections: s.cfg.MaxConnections,
		AllowedOrigins: s.cfg.AllowedOrigins, Problem: api.WriteProblem, Recoverer: s.recoverer,
		Clock: s.clock.Now, Log: s.log, Registerer: s.metrics,
	})
}

// members returns the number of connections in a campaign's room on this node, including big screens.
func (s *Server) members(campaign string) int {
	if rm := s.lobby.Room(campaign); rm != nil {
		return rm.Members()
	}
	return 0
}

// campaignChanged updates the gate and the room to a campaign's version.
func (s *Server) campaignChanged(c *rain.Campaign) {
	if c.Drained {
		s.gates.Drop(c.ID)
		return
	}
	s.gates.Gate(c)
}
