package clientip

import (
	"net/http"
	"net/netip"
)

// Burst is how many seconds' worth of a limit per address may come at once: a hall behind one address opens
// the page in the same moment.
const Burst = 10

// RequestKey is the Key of a request's client.
func RequestKey(r *http.Request) string { return Key(r.RemoteAddr) }

// Key is the text by which limits count the client of a connection. remote is its address, with or without a port. The
// key is the IPv4 address, also if it is written as an IPv6 one, or the /64 of an IPv6 address, because one client
// usually has all of it. This machine's own address (::1) stays whole.
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

// AddrKey is the Key of an address.
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
