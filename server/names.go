package server

import (
	"redrain/grab/store"
	"redrain/internal/auth"
	"redrain/internal/wire"
	"redrain/server/live"
	"redrain/server/names"
)

// buildNames makes what knows how players are shown, where their names are.
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

// shownNames are what rooms are shown; nil for nothing.
func (s *Server) shownNames() live.Names {
	if s.names == nil {
		return nil
	}
	return s.names
}

// face is how the player of a token is shown; nil: under a masked id.
func (s *Server) face() func(auth.Grant) wire.Face {
	if s.names == nil {
		return nil
	}
	return s.names.Face
}
