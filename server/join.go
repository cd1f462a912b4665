package server

import (
	"net"
	"net/http"
)

// lobbyView is where a page without a campaign should go.
type lobbyView struct {
	Campaign string `json:"campaign"`
	// Join is where a phone on the same network finds the player's page: for a big screen that was opened as localhost, whose
	// own address is of no use in a QR code. Others are not told the addresses of the machine.
	Join string `json:"join,omitempty"`
}

// joinURL is lobbyView.Join for a request.
func (a *api) joinURL(r *http.Request) string {
	if !isLoopback(r.RemoteAddr) || !isLoopback(r.Host) {
		return ""
	}
	if lan := a.lan(); lan != "" {
		return lan + "/"
	}
	return ""
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
