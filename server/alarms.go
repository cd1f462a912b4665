package server

import (
	"cmp"
	"fmt"

	"redrain/server/alarms"
)

// buildAlarms builds the poster of alarms, if there is an address for them.
func (s *Server) buildAlarms() (err error) {
	if s.cfg.AlarmURL == "" {
		return nil
	}
	s.poster, err = alarms.NewPoster(alarms.Options{
		URL: s.cfg.AlarmURL, Format: s.cfg.AlarmFormat, Secret: s.newest.of("alarm-secret", s.cfg.AlarmSecret),
		Name: cmp.Or(s.cfg.PublicRoot(), s.cfg.Namespace), Open: s.alarms, Leases: s.ledger.Leases, Node: s.node,
		Alarm: s.bus.Alarm, Clock: s.clock.Now, Recoverer: s.recoverer, Log: s.log, Registerer: s.metrics,
	})
	if err != nil {
		return fmt.Errorf("--alarm-url: %w", err)
	}
	return nil
}
