package admission

import "net/netip"

// networks are networks by the length of their prefix: an address is looked up once for each length that there is.
type networks map[int]map[netip.Prefix]struct{}

func (n networks) add(p netip.Prefix) {
	key := length(p.Addr(), p.Bits())
	if n[key] == nil {
		n[key] = map[netip.Prefix]struct{}{}
	}
	n[key][p] = struct{}{}
}

// length tells those of IPv6, below zero, from those of IPv4.
func length(addr netip.Addr, bits int) int {
	if addr.Is4() {
		return bits
	}
	return -1 - bits
}

func (n networks) has(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	for key := range n {
		bits := key
		if key < 0 {
			bits = -1 - key
		}
		if addr.Is4() != (key >= 0) {
			continue
		}
		if p, err := addr.Prefix(bits); err == nil {
			if _, is := n[key][p]; is {
				return true
			}
		}
	}
	return false
}
