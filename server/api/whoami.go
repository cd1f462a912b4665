package api

import "net/http"

// whoamiView is what a console needs to know before it shows anything: what the token may do, and what kind of
// server this is.
type whoamiView struct {
	Name       string  `json:"name"`   // the person's, or that of the shared token
	Role       string  `json:"role"`   // one, or several with commas
	Rights     []right `json:"rights"` // what the token may do
	Shared     bool    `json:"shared"` // the token is nobody's own
	Version    string  `json:"version"`
	ServerTime int64   `json:"server_time"` // Unix ms on the cluster's clock
	InProcess  bool    `json:"in_process"`  // without real back ends: a trial, which may forget everything
	Guests     bool    `json:"guests"`      // anyone may play under a generated name
}

func (a *API) whoami(w http.ResponseWriter, _ *http.Request, who caller) error {
	WriteJSON(w, http.StatusOK, whoamiView{
		Name: who.name, Role: who.role, Rights: who.rights, Shared: who.operator.Shared, Version: a.o.Version,
		ServerTime: a.o.Clock(), InProcess: a.o.InProcess, Guests: a.o.Guests,
	})
	return nil
}
