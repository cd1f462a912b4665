package clientip

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
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

// Proxies are the networks of trusted proxies.
type Proxies []netip.Prefix

// ParseProxies parses networks ("10.0.0.0/8") and single addresses.
func ParseProxies(list []string) (Proxies, error) {
	var all Proxies
	for _, text := range list {
		text = strings.TrimSpace(text)
		if addr, err := netip.ParseAddr(text); err == nil {
			all = append(all, netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()))
			continue
		}
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%q is neither a network such as 10.0.0.0/8 nor an address", text)
		}
		all = append(all, network.Masked())
	}
	return all, nil
}

// Trust reports whether an address belongs to a trusted proxy.
func (p Proxies) Trust(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(addr) })
}

// Trusted is Trust for a connection's remote address.
func (p Proxies) Trusted(remote net.Addr) bool {
	peer, err := netip.ParseAddrPort(remote.String())
	return err == nil && p.Trust(peer.Addr())
}

// Handler sets RemoteAddr to the client's address if a trusted proxy has forwarded the request. It uses the right-most
// address in X-Forwarded-For that is not a trusted proxy's: the client can forge those to its left. Parsing stops at
// the first invalid address; the last trusted proxy is used.
func (p Proxies) Handler(next http.Handler) http.Handler {
	if len(p) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if client := p.client(r); client != "" {
			r.RemoteAddr = client
		}
		next.ServeHTTP(w, r)
	})
}

// client returns the client's address in the form of RemoteAddr, with port 0; "" if no trusted proxy names one.
func (p Proxies) client(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !p.Trust(peer.Addr()) {
		return ""
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	client := netip.Addr{}
	for _, said := range slices.Backward(hops) {
		hop, ok := parseHop(said)
		if !ok {
			break
		}
		if client = hop; !p.Trust(hop) {
			break
		}
	}
	if !client.IsValid() {
		return ""
	}
	return netip.AddrPortFrom(client, 0).String()
}

// parseHop parses an address, with or without a port.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if addr, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return addr.Unmap().WithZone(""), true
	}
	hop, err := netip.ParseAddrPort(text)
	return hop.Addr().Unmap().WithZone(""), err == nil
}
