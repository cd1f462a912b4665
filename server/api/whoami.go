package api

import (
	"net/http"

	"redrain/internal/openapi"
)

func (a *API) whoami(w http.ResponseWriter, _ *http.Request, who caller) error {
	rights := make([]string, len(who.rights))
	for i, r := range who.rights {
		rights[i] = string(r)
	}
	return answer(w, openapi.WhoAmI{
		Name: who.name, Role: who.role, Rights: rights, Shared: who.operator.Shared, Version: a.o.Version,
		ServerTime: a.o.Clock(), InProcess: a.o.InProcess, Guests: a.o.Guests,
	}, nil)
}
