package clientip

import (
	"net/http"
	"net/netip"
)

// Burst is the burst of a limit per address, in seconds of its rate. A hall behind one address opens the page in one
// moment.
const Burst = 10

// RequestKey returns the Key of a request's client.
func RequestKey(r *http.Request) string { return Key(r.RemoteAddr) }

// Key returns the text by which limits count the client at an address, with or without a port. It is the IPv4 address,
// even if written as IPv6, or the /64 of an IPv6 address, because one client usually has all of it. The loopback
// address ::1 stays complete.
func Key(remote string) string {
	addr, err := netip.ParseAddr(remote)
	if with, portErr := netip.ParseAddrPort(remote); portErr == nil {
		addr, err = with.Addr(), nil
	}
	if err != nil {
		return remote
	}
	return AddrKey(addr)
}

// AddrKey returns the Key of an address.
func AddrKey(addr netip.Addr) string {
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
