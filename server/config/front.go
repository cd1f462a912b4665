package config

import (
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"redrain/server/clientip"
	"redrain/web"
)

// validateFront checks the addresses of the process and its trusted proxies.
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
	if _, err := clientip.ParseProxies(c.Proxies); err != nil {
		fault("--trusted-proxies: %w", err)
	}
	if c.ProxyProtocol && len(c.Proxies) == 0 {
		fault("--proxy-protocol: name the proxies that may send its header in --trusted-proxies")
	}
}

// validatePublic checks the address that is shown outside. Paths of pages are appended to it, so it has no path.
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

// validateWeChat checks the addresses that the player's page loads in WeChat's browser. They are https only: a script
// over plain http can be replaced on its way.
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

// verifyName matches the name of a file that is served below "/". It allows text only: a page would run as one of ours.
var verifyName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\.txt$`)

func (c *Config) validateVerifyFiles(fault func(string, ...any)) {
	taken := map[string]bool{"licenses.txt": true}
	for _, path := range c.VerifyFiles {
		name := filepath.Base(path)
		if !verifyName.MatchString(name) {
			fault("--verify-files %q: a name is of letters, digits, _, - and dots, and ends with .txt", name)
		} else if taken[name] {
			fault("--verify-files %q: there is another file of this name", name)
		}
		taken[name] = true
	}
}

// PublicRoot is PublicURL without a slash at its end.
func (c *Config) PublicRoot() string { return strings.TrimRight(c.PublicURL, "/") }
