package api

import (
	"net"
	"net/http"
)

// lobbyView is where a page without a campaign should go, and what it may tell somebody who is not signed in yet.
type lobbyView struct {
	// Campaign is "" while none is on.
	Campaign    string `json:"campaign"`
	Name        string `json:"name"`
	WinsPerUser int    `json:"wins_per_user"`
	// Guests tells whether anybody may play under a generated name.
	Guests bool `json:"guests"`
	// StartsInMS is how long it is until the next rain, where one is to come: pages that all come in then do not do
	// so at one moment.
	StartsInMS int64 `json:"starts_in_ms,omitempty"`
	// Join is where a phone on the same network finds the player's page: for a big screen that was opened as
	// localhost, whose own address is of no use in a QR code. Others are not told the addresses of the machine.
	Join string `json:"join,omitempty"`
}

// joinURL is lobbyView.Join for a request. One that a proxy on this machine has passed on comes from this machine
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
