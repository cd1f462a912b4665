package server

import (
	"fmt"

	"redrain/internal/reread"
	"redrain/server/config"
)

// secrets are those in files, by their flags. Each function returns the newest content of the file.
type secrets map[string]func() string

// of returns a function for the newest value of a flag that holds a secret; value is the one at start.
func (s secrets) of(flag, value string) func() string {
	if newest := s[flag]; newest != nil {
		return newest
	}
	return func() string { return value }
}

// readSecrets reads the files of secrets, before any connection is made.
func (s *Server) readSecrets() error {
	s.newest = secrets{}
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
