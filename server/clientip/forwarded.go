package clientip

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

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
