package api

import (
	"errors"
	"net/http"

	"redrain/internal/auth"
)

// admit tells who sent a request, or why they may not.
func (a *API) admit(r *http.Request, need access) (caller, error) {
	if need == anyone {
		return caller{}, nil
	}
	token := auth.Bearer(r)
	if need == player {
		user, err := a.o.Players.Verify(r.Context(), token)
		if errors.Is(err, auth.ErrKeysUnavailable) {
			return caller{}, err
		}
		if err != nil {
			a.o.Log.Debug("bad player token", "path", r.URL.Path, "err", err)
			return caller{}, errUnauthorized
		}
		return caller{name: user, role: "player", user: user}, nil
	}
	switch a.o.Operators.Role(token) {
	case auth.RoleOperator:
		return caller{name: "operator", role: "operator"}, nil
	case auth.RoleViewer:
		if need == operator {
			return caller{}, refuse(http.StatusForbidden, "forbidden",
				"this takes the operator's token; the viewer's may only read")
		}
		return caller{name: "viewer", role: "viewer"}, nil
	default:
		return caller{}, errUnauthorized
	}
}

var errUnauthorized = refuse(http.StatusUnauthorized, "unauthorized", "give a valid token: Authorization: Bearer …")
