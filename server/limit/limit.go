// Package limit names the address that limits per client count by, and how much may come at once. The counting is
// store.Limits.
package limit

import (
	"net"
	"net/http"
)

// Burst is how many seconds' worth of a limit per address may come at once: a hall behind one address opens
// the page in the same moment.
const Burst = 10

// Address is what limits per address count by: the IPv4 address, or the /64 of an IPv6 address, since one client
// usually has all of it.
func Address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	ip := net.ParseIP(host)
	if ip == nil || ip.To4() != nil {
		return host
	}
	return ip.Mask(net.CIDRMask(64, 128)).String()
}
