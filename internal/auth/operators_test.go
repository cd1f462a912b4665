package auth_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/auth"
	"redrain/internal/testenv"
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
		got, err := auth.NewOperators(fixed(tc.operator), fixed(tc.viewer)).Operator(t.Context(), tc.bearer)
		if got.Name != tc.want || errors.Is(err, auth.ErrNoOperator) != (tc.want == "") ||
			got.Shared != (tc.want != "") {
			t.Errorf("operator %q, viewer %q: bearer %q is %+v (%v), want %q", tc.operator, tc.viewer, tc.bearer, got,
				err, tc.want)
		}
	}
}

func fixed(text string) func() string { return func() string { return text } }

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
		testenv.Equal(t, auth.Bearer(r), want, "%q", header)
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
	testenv.Equal(t, len(seen), 1000, "different names")
}

// writeOperators writes an operators' file that is not mistaken for the one before it.
func writeOperators(t *testing.T, path, text string, version int64) {
	t.Helper()
	testenv.Must(t, os.WriteFile(path, []byte(text), 0o600))
	at := time.Unix(version, 0)
	testenv.Must(t, os.Chtimes(path, at, at))
}

// TestOperatorsFile: operators in the file are accepted, and removed ones are refused within seconds. While the file
// cannot be read, its old content counts.
func TestOperatorsFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "operators.yaml")
		annToken, annHash := auth.NewOperatorToken()
		bobToken, bobHash := auth.NewOperatorToken()
		ann, bob := "- {name: ann, role: cashier, sha256: "+annHash+"}\n",
			"- {name: 'Bob 李', role: 'operator, viewer', sha256: "+bobHash+"}\n"
		writeOperators(t, path, ann+bob, 1)
		file, err := auth.NewOperatorsFile(path, slog.New(slog.DiscardHandler))
		testenv.Must(t, err)
		knows := func(token, name string, roles ...auth.Role) {
			t.Helper()
			time.Sleep(6 * time.Second) // fake time: the next check of the file is due
			got, err := file.Operator(t.Context(), token)
			if got.Name != name || !slices.Equal(got.Roles, roles) ||
				errors.Is(err, auth.ErrNoOperator) != (name == "") {
				t.Errorf("%+v, %v; want %q", got, err, name)
			}
		}
		knows(annToken, "ann", auth.RoleCashier)
		knows(bobToken, "Bob 李", auth.RoleOperator, auth.RoleViewer)
		for _, wrong := range []string{"", annHash, annToken[:len(annToken)-1], annToken + "x", "ann"} {
			knows(wrong, "")
		}
		writeOperators(t, path, bob, 2)
		knows(annToken, "")
		writeOperators(t, path, "- {name: ann, role: king, sha256: "+annHash+"}\n", 3)
		knows(bobToken, "Bob 李", auth.RoleOperator, auth.RoleViewer)
		writeOperators(t, path, "", 4)
		knows(bobToken, "")
	})
}

func TestFaultsOfAnOperatorsFile(t *testing.T) {
	_, hash := auth.NewOperatorToken()
	_, other := auth.NewOperatorToken()
	ann := "- {name: ann, role: admin, sha256: " + hash + "}\n"
	for text, says := range map[string]string{
		"ann":                                 "want a list",
		"- {name: ann, sha256: " + hash + "}": "role",
		"- {name: ann, role: admin}":          "64 hex",
		"- {name: ann, role: admin, sha256: " + hash[:60] + "}":      "64 hex",
		"- {name: ann, role: admin, token: x, sha256: " + hash + "}": "want a list",
		"- {name: '', role: admin, sha256: " + hash + "}":            "name",
		"- {name: ' ann', role: admin, sha256: " + hash + "}":        "name",
		"- {name: \"a\\nb\", role: admin, sha256: " + hash + "}":     "name",
		"- {name: Operator, role: admin, sha256: " + hash + "}":      "shared token",
		"- {name: ann, role: 'admin,king', sha256: " + hash + "}":    "king",
		ann + "- {name: bob, role: viewer, sha256: " + hash + "}":    "same token",
		ann + "- {name: Ann, role: viewer, sha256: " + other + "}":   "capitals",
	} {
		path := filepath.Join(t.TempDir(), "operators.yaml")
		writeOperators(t, path, text, 1)
		_, err := auth.NewOperatorsFile(path, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), hash) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
	testenv.WantErr(t, testenv.Err(auth.NewOperatorsFile(filepath.Join(t.TempDir(), "none"), nil)), os.ErrNotExist)
}
