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
			_, err := login.NewCodes(logins).Take(t.Context(), state)
			testenv.WantErr(t, err, login.ErrNoCode, "as a code")
			testenv.Got(other.Take(t.Context(), "oidc", "a browser", state)).Want(t, begun, "the attempt")
			code := testenv.Got(login.NewCodes(logins).Make(t.Context(), pass, login.Life)).Must(t)
			for _, forged := range []string{state, code, "", "x", strings.Repeat("A", 26)} {
				testenv.WantErr(t, testenv.Err(one.Take(t.Context(), "oidc", "a browser", forged)), login.ErrNoAttempt,
					forged)
			}
			for _, c := range [][3]string{{"a browser", "oidc", "another"}, {"a browser", "oidc", ""},
				{"a browser", "wechat", "a browser"}, {"", "oidc", ""}} {
				state := testenv.Got(one.Begin(t.Context(), login.NewAttempt("oidc", "", c[0]))).Must(t)
				testenv.WantErr(t, testenv.Err(one.Take(t.Context(), c[1], c[2], state)), login.ErrNoAttempt, c[:]...)
			}
		})
	}
}
