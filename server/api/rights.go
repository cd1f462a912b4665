package api

import (
	"slices"

	"redrain/internal/auth"
)

// right is what a route asks of who calls it.
type right string

// The rights of operators. Each route names the one that it needs.
const (
	reading     right = "read"        // see everything
	campaigning right = "campaigns"   // make campaigns and rains, stop and close them
	depositing  right = "deposits"    // bring sponsors' money in
	paying      right = "withdrawals" // hold and release withdrawals, and end those that wait for people
	judging     right = "letters"     // retry and dismiss dead letters, release and confirm held wins
	approving   right = "approvals"   // be the second person, with the right to what is decided on
	policing    right = "players"     // disconnect, ban and unban players
	sealing     right = "seal"        // make a new key for the seals
	// entering is to make codes that sign in as any player: whoever may could withdraw as they could. Players may make
	// codes for themselves.
	entering right = "logins"
)

// What routes that are not operators' ask for.
const (
	anyone right = ""
	player right = "player" // a player's token
)

// operatorsRights are all that an operator can have.
var operatorsRights = []right{reading, campaigning, depositing, paying, judging, approving, policing, sealing,
	entering}

// rightsOfRole is what each role may do.
var rightsOfRole = map[auth.Role][]right{
	auth.RoleViewer:   {reading},
	auth.RoleOperator: {reading, campaigning, policing},
	auth.RoleCashier:  {reading, depositing, paying, judging, approving},
	auth.RoleAdmin:    operatorsRights,
}

// rightsOf is what somebody may do: all that any of their roles may. Whoever has the shared token of the operators may
// do everything, as before there were roles.
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
