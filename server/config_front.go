package server

import (
	"net"
	"net/url"
	"strings"

	"redrain/server/caller"
	"redrain/web"
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
	c.validatePublic(fault)
	c.validateVerifyFiles(fault)
	c.validateWeChat(fault)
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

// validatePublic checks the address that is shown outside. Links to pages are made by what stands behind it, so it has
// no path of its own.
func (c *Config) validatePublic(fault func(string, ...any)) {
	if c.PublicURL == "" {
		return
	}
	u, err := url.Parse(c.PublicURL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		fault("--public-url %q: give scheme://host[:port]", c.PublicURL)
	}
}

// validateWeChat checks the addresses that the player's page asks in WeChat's browser. What is loaded from them in the
// clear could be anybody's.
func (c *Config) validateWeChat(fault func(string, ...any)) {
	for _, asked := range []struct{ flag, address string }{
		{"--wechat-sign-url", c.WeChatSign}, {"--wechat-sdk-url", c.WeChatSDK},
	} {
		if c.WeChatSign == "" {
			return
		}
		u, err := url.Parse(asked.address)
		if err != nil || u.Scheme != "https" || u.User != nil || u.Fragment != "" || web.Origin(asked.address) == "" {
			fault("%s: give an https URL, without a user or a part after #", asked.flag)
		}
	}
}

// publicURL is PublicURL as addresses begin with it.
func (c *Config) publicURL() string { return strings.TrimRight(c.PublicURL, "/") }
