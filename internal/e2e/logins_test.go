package e2e

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"redrain/internal/testenv"
)

// TestACodeOverTwoNodes: a code that one node has made signs in at the other, once, however many try at once; what
// comes out is the player's own token. A ban at one node makes the codes of both worthless.
func TestACodeOverTwoNodes(t *testing.T) {
	testenv.Parallel(t, testenv.Medium)
	cfg := realSetting(t).config()
	a, b := startNode(t, cfg), startNode(t, cfg)
	player := newAPIClient(t, a)
	player.token = token(t, "mallory")
	at := []*apiClient{newAPIClient(t, a), newAPIClient(t, b)}
	code := func() string {
		t.Helper()
		made := player.call("POST", "/login-codes", `{"campaign":"c1"}`)
		player.want(made, http.StatusCreated, made.code()) // it is what was asked for
		return made.field("code")
	}

	once := code()
	var in, refused atomic.Int32
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			got := at[i%2].call("POST", "/login", `{"code":"`+once+`"}`)
			switch {
			case got.status == http.StatusOK && got.field("token") == player.token:
				in.Add(1)
			case got.status == http.StatusGone:
				refused.Add(1)
			default:
				t.Errorf("%d %s", got.status, got.body)
			}
		})
	}
	wg.Wait()
	if in.Load() != 1 || refused.Load() != 9 {
		t.Errorf("%d are in, %d are refused", in.Load(), refused.Load())
	}

	late := code()
	at[0].want(at[0].call("POST", "/users/mallory/ban", `{"reason":"a bot"}`), http.StatusOK, "")
	player.want(player.call("POST", "/login-codes", ""), http.StatusForbidden, "banned")
	testenv.Eventually(t, time.Minute, "the other node knows of the ban", func() bool {
		return at[1].call("POST", "/login-codes", `{"user":"mallory"}`).status == http.StatusForbidden
	})
	at[1].want(at[1].call("POST", "/login", `{"code":"`+late+`"}`), http.StatusForbidden, "banned")

	// An operator's code is a token of this server's, for somebody else.
	made := at[0].call("POST", "/login-codes", `{"user":"u7","name":"小雨"}`)
	at[0].want(made, http.StatusCreated, made.code())
	got := at[1].call("POST", "/login", `{"code":"`+made.field("code")+`"}`)
	at[1].want(got, http.StatusOK, "")
	mine := newAPIClient(t, b)
	mine.token = got.field("token")
	if me := mine.call("GET", "/me", ""); me.status != http.StatusOK || me.field("user") != "u7" {
		t.Errorf("signed in as %s", me.body)
	}
}
