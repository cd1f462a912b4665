package auth_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"redrain/internal/auth"
	"redrain/rain"
)

func TestSharedTokens(t *testing.T) {
	tests := []struct {
		operator, viewer, bearer string
		want                     string
	}{
		{"op", "view", "op", "operator"},
		{"op", "view", "view", "viewer"},
		{"op", "view", "", ""},
		{"op", "view", "o", ""},
		{"op", "view", "op ", ""},
		{"op", "", "", ""},
		{"", "", "", ""},
		{"", "view", "", ""},
		{"same", "same", "same", "operator"},
	}
	for _, tc := range tests {
		got, err := auth.NewOperators(tc.operator, tc.viewer).Operator(t.Context(), tc.bearer)
		if got.Name != tc.want || errors.Is(err, auth.ErrNoOperator) != (tc.want == "") ||
			got.Shared != (tc.want != "") {
			t.Errorf("operator %q, viewer %q: bearer %q is %+v (%v), want %q", tc.operator, tc.viewer, tc.bearer, got,
				err, tc.want)
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
