package server

import "redrain/server/names"

// NamesShown tells whether players are shown by their tokens' names to all who look on.
func (c *Config) NamesShown() bool {
	if c.ShowNames != nil {
		return *c.ShowNames
	}
	return c.InProcess()
}

// validateNames checks how players are shown.
func (c *Config) validateNames(fault func(string, ...any)) {
	if err := names.Hosts(c.AvatarHosts).Check(); err != nil {
		fault("--avatar-hosts %w", err)
	}
	if len(c.AvatarHosts) > 0 && !c.NamesShown() {
		fault("--avatar-hosts: is for --show-names")
	}
}

// images are where the pages' pictures may come from, besides this server.
func (c *Config) images() []string { return names.Hosts(c.AvatarHosts).Sources() }
