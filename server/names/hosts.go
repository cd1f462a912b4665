package names

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// maxAvatar is the longest address, in bytes. WeChat's have some 140.
const maxAvatar = 200

// hostPattern matches a DNS name, or all names below one.
var hostPattern = regexp.MustCompile(`^(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,62}$`)

// Hosts are the hosts of avatars: img.example.com, or *.example.com for all names below it.
type Hosts []string

// Check returns an error for the first invalid host.
func (h Hosts) Check() error {
	for _, host := range h {
		if !hostPattern.MatchString(host) {
			return fmt.Errorf("%q: give a host in small letters, as img.example.com, or *.example.com for all below it",
				host)
		}
	}
	return nil
}

// Sources returns the hosts as sources of a Content-Security-Policy.
func (h Hosts) Sources() []string {
	sources := make([]string, len(h))
	for i, host := range h {
		sources[i] = "https://" + host
	}
	return sources
}

// Avatar returns the address of an avatar as it may be shown, or "".
func (h Hosts) Avatar(address string) string {
	if len(address) > maxAvatar {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.User != nil || u.Port() != "" || u.Opaque != "" || !h.have(u.Hostname()) {
		return ""
	}
	u.Fragment, u.RawFragment = "", ""
	is := u.String()
	if len(is) > maxAvatar { // escaped, it is longer
		return ""
	}
	return is
}

func (h Hosts) have(name string) bool {
	name = strings.ToLower(name)
	for _, host := range h {
		if below, wild := strings.CutPrefix(host, "*"); name == host || wild && strings.HasSuffix(name, below) &&
			len(name) > len(below) {
			return true
		}
	}
	return false
}
