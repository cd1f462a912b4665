package login_test

import (
	"strings"
	"testing"

	"redrain/grab/grabtest"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/server/login"
)

// TestAnAttemptWorksOnce: at any node, and for its browser and provider only. A state is no login code.
func TestAnAttemptWorksOnce(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			logins := store.NewLogins(store.New(rdb, store.Options{Namespace: testenv.Namespace(t)}))
			one, other := login.NewAttempts(logins), login.NewAttempts(logins)
			begun := login.NewAttempt("oidc", "https://rain.example/", "a browser")
			state := testenv.Got(one.Begin(t.Context(), begun)).Must(t)
			testenv.WantErr(t, testenv.Err(login.NewCodes(logins).Take(t.Context(), state)), login.ErrNoCode, "as a code")
			testenv.Got(other.Take(t.Context(), state)).Want(t, begun, "the attempt")
			testenv.WantErr(t, testenv.Err(one.Take(t.Context(), state)), login.ErrNoCode, "replayed")
			for _, forged := range []string{"", "x", strings.Repeat("A", 26)} {
				testenv.WantErr(t, testenv.Err(one.Take(t.Context(), forged)), login.ErrNoCode, forged)
			}
			code := testenv.Got(login.NewCodes(logins).Make(t.Context(), pass, login.Life)).Must(t)
			testenv.WantErr(t, testenv.Err(one.Take(t.Context(), code)), login.ErrNoCode, "a code as a state")
		})
	}
	begun := login.NewAttempt("oidc", "", "a browser")
	for _, c := range []struct {
		provider, browser string
		want              bool
	}{{"oidc", "a browser", true}, {"oidc", "another", false}, {"oidc", "", false}, {"wechat", "a browser", false}} {
		testenv.Equal(t, begun.IsOf(c.provider, c.browser), c.want, "%s, %q", c.provider, c.browser)
	}
	testenv.Equal(t, login.NewAttempt("oidc", "", "").IsOf("oidc", ""), false, "without a cookie")
}
