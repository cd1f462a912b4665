package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// Role is what an operator's token allows. A role includes all lower ones.
type Role int

// The roles, from the least to the most.
const (
	RoleNone     Role = iota // not an operator
	RoleViewer               // may read
	RoleOperator             // may do everything
)

// String is the role's name in logs and in the audit.
func (r Role) String() string {
	switch r {
	case RoleViewer:
		return "viewer"
	case RoleOperator:
		return "operator"
	default:
		return "none"
	}
}

// Operators checks operators' tokens. It keeps only their hashes.
type Operators struct {
	operator, viewer *[sha256.Size]byte // nil: no such token
}

// NewOperators takes the two tokens. With an empty token, nobody has its role.
func NewOperators(operatorToken, viewerToken string) *Operators {
	return &Operators{operator: digest(operatorToken), viewer: digest(viewerToken)}
}

// Role is what a bearer token allows. It takes the same time for every token, so that a stranger cannot
// guess a token piece by piece.
func (o *Operators) Role(bearer string) Role {
	got := sha256.Sum256([]byte(bearer))
	operator, viewer := same(o.operator, &got), same(o.viewer, &got)
	switch {
	case operator:
		return RoleOperator
	case viewer:
		return RoleViewer
	default:
		return RoleNone
	}
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
