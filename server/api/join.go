package api

import (
	"net"
	"net/http"
)

// joinURL is the address at which a phone on the same network finds the player's page, for a big screen that was opened
// as localhost. Other callers do not learn the addresses of the machine.
//
// One that a proxy on this machine has passed on comes from this machine
// too, and may even be addressed to it; but it says that it was passed on.
func (a *API) joinURL(r *http.Request) string {
	if !isLoopback(r.RemoteAddr) || !isLoopback(r.Host) || passedOn(r.Header) {
		return ""
	}
	if lan := a.o.JoinURL(); lan != "" {
		return lan + "/"
	}
	return ""
}

// passedOn tells whether a proxy says that a request is somebody else's.
func passedOn(h http.Header) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"} {
		if h.Get(name) != "" {
			return true
		}
	}
	return false
}

// isLoopback tells whether an address, with or without a port, is this machine's own.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
