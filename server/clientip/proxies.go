package clientip

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

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
	for _, network := range p {
		if network.Contains(addr) {
			return true
		}
	}
	return false
}

// Trusted is Trust for a connection's remote address.
func (p Proxies) Trusted(remote net.Addr) bool {
	peer, err := netip.ParseAddrPort(remote.String())
	return err == nil && p.Trust(peer.Addr())
}
