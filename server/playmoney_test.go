package server

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"redrain/internal/auth"
	"redrain/internal/sandbox/wechat"
	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// packageField matches the form of a transfer on the simulated page.
var packageField = regexp.MustCompile(`name="package" value="(\w+)"`)

// TestPlayMoney: a guest withdraws, confirms on the simulated page of WeChat Pay, and is paid. The page says that it is
// play money.
func TestPlayMoney(t *testing.T) {
	cfg := ownConfig("")
	cfg.Demo, cfg.DemoPayments = false, true
	serveOn(t, cfg, func(s *Server) {
		address, client := "http://"+s.Addr().String(), &http.Client{Timeout: time.Minute}
		call := func(method, path, token, body string) (status int, answer string) {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), method, address+path, strings.NewReader(body))
			testenv.Must(t, err)
			r.Header.Set("Authorization", "Bearer "+token)
			resp := testenv.Got(client.Do(r)).Must(t)
			defer func() { _ = resp.Body.Close() }()
			return resp.StatusCode, string(testenv.Got(io.ReadAll(resp.Body)).Must(t))
		}
		_, said := call("POST", "/api/v1/guests", "", "")
		var guest struct {
			User  string `json:"user"`
			Token string `json:"token"`
		}
		testenv.Must(t, json.Unmarshal([]byte(said), &guest))
		give(t, s, guest.User, 250)
		other, _, err := s.players.Mint(auth.Persona{User: "u1"}, time.Minute)
		testenv.Must(t, err)
		give(t, s, "u1", 250)
		if status, said := call("POST", "/api/v1/me/withdrawals", other, `{"amount":250}`); status != 409 ||
			!strings.Contains(said, "no_payee") {
			t.Errorf("without a payee: %d %s", status, said)
		}
		if status, said := call("POST", "/api/v1/me/withdrawals", guest.Token, `{"amount":250}`); status != 201 {
			t.Fatalf("%d %s", status, said)
		}
		if _, said := call("GET", "/api/v1/me", guest.Token, ""); !strings.Contains(said, `"payee":{"wechat":"o-g***`) {
			t.Error(said)
		}
		testenv.Eventually(t, 10*time.Second, "the action of the withdrawal", func() bool {
			_, said = call("GET", "/api/v1/me/withdrawals", guest.Token, "")
			return strings.Contains(said, `"action":{"kind":"wechat","mch_id":"`+playMerchant+`","app_id":"`+playApp+
				`","package":"`)
		})
		_, page := call("GET", wechat.PagePath, "", "")
		found := packageField.FindStringSubmatch(page)
		if found == nil || !strings.Contains(page, "Play money") {
			t.Fatalf("the page: %s", page)
		}
		resp := testenv.Got(client.PostForm(address+wechat.PagePath, url.Values{"package": {found[1]}})).Must(t)
		testenv.Must(t, resp.Body.Close())
		testenv.Eventually(t, 20*time.Second, "the payment", func() bool {
			_, said = call("GET", "/api/v1/me/withdrawals", guest.Token, "")
			return strings.Contains(said, `"state":"paid"`)
		})
	})
}

// give adds money to a player's account.
func give(t *testing.T, s *Server, user string, amount rain.Money) {
	t.Helper()
	in := booking.Move(booking.KindDeposit, "gift:"+user, booking.World, booking.UserAccount(user), amount)
	testenv.Must(t, s.back.sql.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := booking.Book(ctx, tx, 1, []booking.Txn{in}, nil)
		return err
	}))
}
