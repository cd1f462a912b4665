package admission

import (
	"net/netip"

	"redrain/server/clientip"
)

// ParseExempt reads networks and addresses that are not bounded. One within an IPv6 /64 stands for all of it, as one
// client usually does.
func ParseExempt(list []string) ([]netip.Prefix, error) {
	networks, err := clientip.ParseProxies(list)
	if err != nil {
		return nil, err
	}
	all := make([]netip.Prefix, 0, len(networks))
	for _, n := range networks {
		if n.Addr().Is6() && n.Bits() > 64 {
			n = netip.PrefixFrom(n.Addr(), 64).Masked()
		}
		all = append(all, n)
	}
	return all, nil
}

// exempt tells whether an address, as package clientip names it, is in one of the networks.
func exempt(networks []netip.Prefix, address string) bool {
	addr, err := netip.ParseAddr(address)
	return err == nil && clientip.Proxies(networks).Trust(addr)
}
