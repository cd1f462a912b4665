package server

import (
	"fmt"

	"redrain/internal/reread"
	"redrain/server/config"
)

// readSecrets reads the files of secrets, before any connection is made.
func (s *Server) readSecrets() error {
	s.newest = map[string]func() string{}
	for flag, path := range s.cfg.SecretFiles {
		name := "--" + config.FileFlag(flag)
		files, err := reread.New(name, s.log, func() (string, error) { return s.cfg.Reread(flag) }, path)
		if err != nil {
			return fmt.Errorf("%s %s: %w", name, path, err)
		}
		s.newest[flag] = files.Newest
	}
	return nil
}

// secret returns a function for the newest value of a flag that holds a secret; value is the one at start.
func (s *Server) secret(flag, value string) func() string {
	if newest := s.newest[flag]; newest != nil {
		return newest
	}
	return func() string { return value }
}
