package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// Role is what an operator's token allows. A higher role may do all that a lower one may.
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

// Operators knows the operators' tokens. It keeps their hashes only.
type Operators struct {
	operator, viewer *[sha256.Size]byte // nil: no such token
}

// NewOperators takes the two tokens. An empty one gives its role to nobody.
func NewOperators(operatorToken, viewerToken string) *Operators {
	return &Operators{operator: digest(operatorToken), viewer: digest(viewerToken)}
}

// Role is what a bearer token allows. It takes the same time whatever the token is, and however much
// of it is right.
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

// Bearer is the token of the request's Authorization header, or "" where it has none of the scheme
// Bearer.
func Bearer(r *http.Request) string {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
