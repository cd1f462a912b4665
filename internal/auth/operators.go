package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Role is an operator's job. The API decides the rights of each.
type Role string

// The roles.
const (
	RoleViewer   Role = "viewer"   // reads
	RoleOperator Role = "operator" // runs campaigns
	RoleCashier  Role = "cashier"  // moves money in and out
	RoleAdmin    Role = "admin"    // does everything
)

var allRoles = []Role{RoleViewer, RoleOperator, RoleCashier, RoleAdmin}

// ParseRoles reads roles, one or several with commas.
func ParseRoles(text string) ([]Role, error) {
	var roles []Role
	for part := range strings.SplitSeq(text, ",") {
		role := Role(strings.TrimSpace(part))
		if !slices.Contains(allRoles, role) {
			return nil, fmt.Errorf("%q is not a role: give viewer, operator, cashier or admin", part)
		}
		if !slices.Contains(roles, role) {
			roles = append(roles, role)
		}
	}
	return roles, nil
}

// Operator is a caller who runs redrain: a person whom the credential names, or a holder of a shared token.
type Operator struct {
	Name  string // "operator" or "viewer" for holders of a shared token
	ID    string // identity of the credential's owner; two of one ID are the same person with any names
	Roles []Role
	// Shared means that the token is not personal: a holder of the operators' token may do everything alone, and
	// cannot be identified.
	Shared bool
}

// ErrNoOperator is returned for a token that is not an operator's.
var ErrNoOperator = errors.New("this is not an operator's token")

// OperatorSource finds operators by their bearer tokens.
type OperatorSource interface {
	// Operator returns the owner of a token. It returns ErrNoOperator if this source does not have the token, and
	// another error if it cannot decide for now.
	Operator(ctx context.Context, bearer string) (Operator, error)
}

// Operators checks operators' tokens: two that are shared, and those of other sources.
type Operators struct {
	operator, viewer *[sha256.Size]byte // nil: no such token
	sources          []OperatorSource
}

// The names of holders of a shared token. No person can have them.
const (
	sharedOperator = "operator"
	sharedViewer   = "viewer"
)

// NewOperators takes the two shared tokens, whose hashes it keeps, and the other sources. An empty token matches no
// caller.
func NewOperators(operatorToken, viewerToken string, sources ...OperatorSource) *Operators {
	return &Operators{operator: digest(operatorToken), viewer: digest(viewerToken), sources: sources}
}

// Operator returns the owner of a token. The shared ones take the same time for every token, so that a stranger
// cannot guess one piece by piece.
func (o *Operators) Operator(ctx context.Context, bearer string) (Operator, error) {
	got := sha256.Sum256([]byte(bearer))
	operator, viewer := same(o.operator, &got), same(o.viewer, &got)
	switch {
	case bearer == "":
		return Operator{}, ErrNoOperator
	case operator:
		return Operator{Name: sharedOperator, Roles: []Role{RoleOperator}, Shared: true}, nil
	case viewer:
		return Operator{Name: sharedViewer, Roles: []Role{RoleViewer}, Shared: true}, nil
	}
	refused := ErrNoOperator
	for _, source := range o.sources {
		who, err := source.Operator(ctx, bearer)
		if !errors.Is(err, ErrNoOperator) {
			return who, err
		}
		refused = err
	}
	return Operator{}, refused
}

func digest(token string) *[sha256.Size]byte {
	if token == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(token))
	return &sum
}

// same compares digests, not tokens, because comparing in constant time needs equal lengths.
func same(want, got *[sha256.Size]byte) bool {
	return want != nil && subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

// Bearer returns the bearer token of the request's Authorization header, or "" without one.
func Bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
