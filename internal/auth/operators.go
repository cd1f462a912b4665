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

// Role is what somebody may do, by the name of their work. What each may do is for the API to say.
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

// Operator is somebody who runs redrain: a person whom the credential names, or whoever has a shared token.
type Operator struct {
	Name  string // "operator" or "viewer" of whoever has a shared token
	ID    string // whose credential it is; two of one ID are the same person, whatever their names
	Roles []Role
	// Shared says that the token is nobody's own: whoever has that of the operators may do everything alone, and
	// nobody knows who they are.
	Shared bool
}

// ErrNoOperator is returned for a token that is no operator's.
var ErrNoOperator = errors.New("this is no operator's token")

// OperatorSource knows operators by their bearer tokens.
type OperatorSource interface {
	// Operator is whose token it is: ErrNoOperator where it is nobody's that this source knows, and another error
	// where that cannot be told for now.
	Operator(ctx context.Context, bearer string) (Operator, error)
}

// Operators checks operators' tokens: two that are shared, and those of other sources.
type Operators struct {
	operator, viewer *[sha256.Size]byte // nil: no such token
	sources          []OperatorSource
}

// The names of whoever has a shared token. No person can have them.
const (
	sharedOperator = "operator"
	sharedViewer   = "viewer"
)

// NewOperators takes the two shared tokens, of which it keeps only hashes, and who else knows operators. With an empty
// token, nobody has it.
func NewOperators(operatorToken, viewerToken string, sources ...OperatorSource) *Operators {
	return &Operators{operator: digest(operatorToken), viewer: digest(viewerToken), sources: sources}
}

// Operator is whose token it is. The shared ones take the same time for every token, so that a stranger cannot guess
// one piece by piece.
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

// Bearer is the bearer token of the request's Authorization header, or "" without one.
func Bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
