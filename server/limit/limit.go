// Package limit names the address that limits per client count by, and how much may come at once. The counting is
// store.Limits.
package limit

import (
	"net/http"
	"net/netip"
)

// Burst is how many seconds' worth of a limit per address may come at once: a hall behind one address opens
// the page in the same moment.
const Burst = 10

// Address is what limits per address count by: see Client.
func Address(r *http.Request) string { return Client(r.RemoteAddr) }

// Client is what limits count the other end of a connection by, of which remote is address and port: the IPv4 address,
// also where it is written as an IPv6 one, or the /64 of an IPv6 address, since one client usually has all of it (but
// for this machine's own, ::1).
func Client(remote string) string {
	addr, err := netip.ParseAddr(remote)
	if with, portErr := netip.ParseAddrPort(remote); portErr == nil {
		addr, err = with.Addr(), nil
	}
	if err != nil {
		return remote
	}
	return Of(addr)
}

// Of is Client of an address.
func Of(addr netip.Addr) string {
	addr = addr.Unmap().WithZone("")
	if addr.Is4() || addr.IsLoopback() {
		return addr.String()
	}
	network, err := addr.Prefix(64)
	if err != nil {
		return addr.String()
	}
	return network.Addr().String()
}
