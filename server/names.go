package server

import (
	"redrain/grab/store"
	"redrain/internal/auth"
	"redrain/internal/wire"
	"redrain/server/live"
	"redrain/server/names"
)

// buildNames builds the book of display profiles, if names are shown.
func (s *Server) buildNames() {
	if !s.cfg.NamesShown() {
		return
	}
	s.names = names.New(names.Options{
		Store: store.NewNames(s.redis), Hosts: s.cfg.AvatarHosts,
		Here:      func(user string) (wire.Face, bool) { return s.gateway.Face(user) },
		Banned:    func(user string) bool { return s.bans.Banned(user) },
		Recoverer: s.recoverer, Log: s.log, Registerer: s.metrics,
	})
}

// shownNames returns the book for the rooms; nil if names are not shown.
func (s *Server) shownNames() live.Names {
	if s.names == nil {
		return nil
	}
	return s.names
}

// face returns the display profile of a token's player; nil: players are shown under masked ids.
func (s *Server) face() func(auth.Grant) wire.Face {
	if s.names == nil {
		return nil
	}
	return s.names.Face
}
