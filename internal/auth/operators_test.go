package auth_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"redrain/internal/auth"
	"redrain/rain"
)

func TestRole(t *testing.T) {
	tests := []struct {
		operator, viewer, bearer string
		want                     auth.Role
	}{
		{"op", "view", "op", auth.RoleOperator},
		{"op", "view", "view", auth.RoleViewer},
		{"op", "view", "", auth.RoleNone},
		{"op", "view", "o", auth.RoleNone},
		{"op", "view", "op ", auth.RoleNone},
		{"op", "", "", auth.RoleNone},
		{"", "", "", auth.RoleNone},
		{"", "view", "", auth.RoleNone},
		{"same", "same", "same", auth.RoleOperator},
	}
	for _, tc := range tests {
		if got := auth.NewOperators(tc.operator, tc.viewer).Role(tc.bearer); got != tc.want {
			t.Errorf("operator %q, viewer %q: bearer %q is %v, want %v", tc.operator, tc.viewer, tc.bearer, got,
				tc.want)
		}
	}
}

func TestRolesHaveNames(t *testing.T) {
	for role, want := range map[auth.Role]string{
		auth.RoleNone: "none", auth.RoleViewer: "viewer", auth.RoleOperator: "operator", auth.Role(7): "none",
	} {
		if got := role.String(); got != want {
			t.Errorf("role %d is called %s, want %s", int(role), got, want)
		}
	}
}

func TestBearer(t *testing.T) {
	for header, want := range map[string]string{
		"":                 "",
		"Bearer abc":       "abc",
		"bearer abc":       "abc",
		"Bearer  abc ":     "abc",
		"Bearer":           "",
		"Bearer ":          "",
		"Basic dXNlcjpwdw": "",
		"abc":              "",
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		if header != "" {
			r.Header.Set("Authorization", header)
		}
		if got := auth.Bearer(r); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}

func TestGuestName(t *testing.T) {
	seen := make(map[string]bool)
	for range 1000 {
		name := auth.GuestName()
		if !rain.IsGuest(name) || rain.CheckUser(name) != nil {
			t.Fatalf("%q", name)
		}
		seen[name] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d different names of 1000", len(seen))
	}
}
