package server

import (
	"net"

	"redrain/server/caller"
)

// validateFront checks where the process listens and whose word it takes for who is calling.
func (c *Config) validateFront(fault func(string, ...any)) {
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		fault("--listen %q: give host:port, for example :8080", c.Listen)
	}
	if _, _, err := net.SplitHostPort(c.AdminListen); c.AdminListen != "" && err != nil {
		fault("--admin-listen %q: give host:port, for example 127.0.0.1:9090", c.AdminListen)
	}
	if c.AdminListen != "" && c.AdminListen == c.Listen {
		fault("--admin-listen: must differ from --listen")
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		fault("--tls-cert and --tls-key: give both, or none")
	}
	if _, err := caller.ParseProxies(c.Proxies); err != nil {
		fault("--trusted-proxies: %w", err)
	}
	if c.ProxyProtocol && len(c.Proxies) == 0 {
		fault("--proxy-protocol: name in --trusted-proxies who may send its header")
	}
}
