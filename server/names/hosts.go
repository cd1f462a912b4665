package names

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// maxAvatar is how long an address may be, in bytes: WeChat's are some 140.
const maxAvatar = 200

// hostPattern is a name of the DNS, or all names below one.
var hostPattern = regexp.MustCompile(`^(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,62}$`)

// Hosts are where pictures may come from: names such as img.example.com, or *.example.com for all below it.
type Hosts []string

// Check returns what is wrong with them.
func (h Hosts) Check() error {
	for _, host := range h {
		if !hostPattern.MatchString(host) {
			return fmt.Errorf("%q: give a host in small letters, as img.example.com, or *.example.com for all below it",
				host)
		}
	}
	return nil
}

// Sources are the same as a Content-Security-Policy names them.
func (h Hosts) Sources() []string {
	sources := make([]string, len(h))
	for i, host := range h {
		sources[i] = "https://" + host
	}
	return sources
}

// Avatar is the address of a picture as it may be shown, "" where it may not.
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
