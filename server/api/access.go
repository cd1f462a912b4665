package api

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"redrain/internal/auth"
)

// caller is the sender of a request.
type caller struct {
	name     string        // for the audit log: an operator's name, or the player's id
	role     string        // an operator's roles, or "player"
	user     string        // the player's id, "" for the others
	grant    auth.Grant    // of a player
	operator auth.Operator // none for the others
	rights   []right
}

// may reports whether the caller has a right.
func (c caller) may(r right) bool { return slices.Contains(c.rights, r) }

// admit sets the caller of a request, or returns the error that refuses it.
func (a *API) admit(q *request, need right) error {
	switch need {
	case anyone:
		return nil
	case player:
		return a.admitPlayer(q)
	case entering:
		if err := a.admitPlayer(q); err == nil || errors.Is(err, auth.ErrKeysUnavailable) {
			return err
		}
	}
	token := auth.Bearer(q.Request)
	o, err := a.o.Operators.Operator(q.Context(), token)
	switch {
	case errors.Is(err, auth.ErrNoOperator):
		return a.refuseToken(q, token, err)
	case err != nil:
		a.refused("unavailable")
		return err
	}
	q.caller = caller{name: o.Name, role: roleOf(o), operator: o, rights: rightsOf(o)}
	if !q.may(need) {
		return a.refuseRight(q, need)
	}
	return nil
}

func (a *API) admitPlayer(q *request) error {
	token := auth.Bearer(q.Request)
	grant, err := a.o.Players.Grant(q.Context(), token)
	switch {
	case errors.Is(err, auth.ErrKeysUnavailable):
		return err
	case err != nil:
		a.o.Log.DebugContext(q.Context(), "bad player token", "path", q.URL.Path, "err", err)
		if token == "" {
			return errUnauthorized
		}
		return refuse(http.StatusUnauthorized, "unauthorized", err.Error())
	}
	q.caller = caller{name: grant.User, role: "player", user: grant.User, grant: grant}
	return nil
}

// roleOf returns an operator's roles, separated by commas.
func roleOf(o auth.Operator) string {
	names := make([]string, len(o.Roles))
	for i, role := range o.Roles {
		names[i] = string(role)
	}
	return strings.Join(names, ",")
}

var errUnauthorized = refuse(http.StatusUnauthorized, "unauthorized", "give a valid token: Authorization: Bearer …")

// right is the permission that a route requires.
type right = string

// The rights of operators. Each route requires one.
const (
	reading     right = "read"        // read everything
	campaigning right = "campaigns"   // create campaigns and rains, stop and close them
	depositing  right = "deposits"    // record sponsors' deposits
	paying      right = "withdrawals" // hold and release withdrawals, and end those that wait for operators
	judging     right = "letters"     // retry and dismiss dead letters, release and confirm held wins
	approving   right = "approvals"   // be the second person, together with the right to the act itself
	policing    right = "players"     // disconnect, ban and unban players, and keep lists of them
	sealing     right = "seal"        // create a new key for the seals
	// entering allows login codes for any player, and so withdrawals as that player. Players may create codes for
	// themselves.
	entering right = "logins"
)

// The rights of routes that are not operators'.
const (
	anyone right = ""
	player right = "player" // a player's token
)

// operatorsRights lists all rights of operators.
var operatorsRights = []right{reading, campaigning, depositing, paying, judging, approving, policing, sealing,
	entering}

// rightsOfRole lists the rights of each role.
var rightsOfRole = map[auth.Role][]right{
	auth.RoleViewer:   {reading},
	auth.RoleOperator: {reading, campaigning, policing},
	auth.RoleCashier:  {reading, depositing, paying, judging, approving},
	auth.RoleAdmin:    operatorsRights,
}

// rightsOf returns the rights of an operator: those of all roles together. The shared token of the operators has all
// rights.
func rightsOf(o auth.Operator) []right {
	if o.Shared && slices.Contains(o.Roles, auth.RoleOperator) {
		return operatorsRights
	}
	var rights []right
	for _, r := range operatorsRights {
		if slices.ContainsFunc(o.Roles, func(role auth.Role) bool { return slices.Contains(rightsOfRole[role], r) }) {
			rights = append(rights, r)
		}
	}
	return rights
}
