package e2e

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/server/config"
)

// TestHostileTexts sends texts that a database could not store, would change or would misread, in every field over
// HTTP. Each is stored, or refused with the reason; no answer is a fault of the server.
func TestHostileTexts(t *testing.T) {
	for name, config := range map[string]func(t *testing.T) config.Config{
		"in-process": func(*testing.T) config.Config { return setting{}.config() },
		"mariadb": func(t *testing.T) config.Config {
			t.Helper()
			return setting{mysql: testenv.MySQL(t)}.config()
		},
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Parallel(t, testenv.Light)
			c := newAPIClient(t, startNode(t, config(t)))
			c.want(c.call("POST", "/sponsors/acme/deposits", `{"amount":100000,"reference":"first"}`), 201, "")
			for _, text := range testenv.HostileTexts() {
				if text == "" {
					continue // another path
				}
				c.hostile(text[:min(len(text), 3000)]) // a longer path is no HTTP
			}
		})
	}
}

// hostile sends a text wherever one goes.
func (c *apiClient) hostile(text string) {
	c.t.Helper()
	path, query, quoted := url.PathEscape(text), url.QueryEscape(text), quoteRaw(text)
	ask := func(method, path, body string, header ...string) answer {
		a := c.call(method, path, body, header...)
		if a.status >= 500 {
			c.t.Errorf("%s %.60q %.60q: %d %.300s", method, path, body, a.status, a.body)
		}
		return a
	}
	deposit := func() answer { return ask("POST", "/sponsors/acme/deposits", `{"amount":1,"reference":`+quoted+`}`) }
	if is := deposit(); is.status == 201 {
		if again := deposit(); !bytes.Equal(again.body, is.body) {
			c.t.Errorf("the deposit %.60q again: %s, then %s", text, is.body, again.body)
		}
	}
	for _, of := range []struct{ path, body string }{
		{"/sponsors/" + path + "/deposits", `{"amount":1,"reference":"r"}`},
		{"/campaigns", `{"name":` + quoted + `,"sponsor":"acme","budget":1,"packets":1}`},
		{"/campaigns", `{"name":"x","sponsor":` + quoted + `,"budget":1,"packets":1}`},
		{"/campaigns", `{"name":"x","sponsor":"acme","budget":1,"packets":1,"split":` + quoted + `}`},
		{"/campaigns/" + path + "/pause", ""},
		{"/campaigns/" + path + "/rains/" + path + "/stop", ""},
		{"/payouts/" + path + "/retry", ""},
		{"/payouts/" + path + "/dismiss", `{"reason":` + quoted + `}`},
		{"/withdrawals/" + path + "/hold", `{"reason":` + quoted + `}`},
		{"/withdrawals/" + path + "/paid", `{"reason":` + quoted + `,"reference":` + quoted + `}`},
	} {
		ask("POST", of.path, of.body)
	}
	for _, path := range []string{
		"/sponsors/" + path, "/sponsors?cursor=" + query, "/campaigns/" + path, "/campaigns?cursor=" + query,
		"/campaigns/" + path + "/claims?cursor=" + query, "/campaigns/" + path + "/stats", "/users/" + path,
		"/users/" + path + "/claims?cursor=" + query, "/users/" + path + "/withdrawals?cursor=" + query,
		"/withdrawals/" + path, "/withdrawals?state=pending&cursor=" + query, "/withdrawals?state=" + query,
		"/payouts?state=dead&cursor=" + query, "/audit?cursor=" + query, "/lobby?campaign=" + query,
	} {
		ask("GET", path, "")
	}
	player := []string{"Authorization", "Bearer " + token(c.t, text)}
	ask("GET", "/me", "", player...)
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) && len(text) < 1000 {
		player = append(player, "Idempotency-Key", text, "User-Agent", text)
	}
	ask("POST", "/me/withdrawals", `{"amount":1}`, player...)
}

// quoteRaw is a text as a JSON string in which bytes that are no UTF-8 stay as they are.
func quoteRaw(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ' || c == '"' || c == '\\':
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
