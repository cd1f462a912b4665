package e2e

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"redrain/internal/testenv"
)

// hostileClient keeps its connections: a million requests would otherwise use up the ports of the machine.
var hostileClient = &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 4},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// hostileRequests are nearly valid paths and bodies of the API; {} is an id. Requests that end the players' campaign,
// turn keys, or read every row are left out.
var hostileRequests = []struct {
	method, path string
	body         map[string]string
}{
	{"POST", "/sponsors/{}/deposits", map[string]string{"amount": "100", "reference": `"r"`}},
	{"GET", "/sponsors", nil}, {"GET", "/sponsors/{}", nil},
	{"POST", "/splits/preview", map[string]string{"budget": "1000", "packets": "10", "split": `"even"`, "min": "1"}},
	{"POST", "/campaigns", map[string]string{"name": `"n"`, "sponsor": `"s"`, "budget": "10", "packets": "2",
		"split": `"double_mean"`, "min": "1", "max": "null", "amounts": "null", "wins_per_user": "1",
		"taps_per_user": "0", "shards": "1", "expires_in_ms": "60000"}},
	{"GET", "/campaigns", nil}, {"GET", "/campaigns/{}", nil},
	{"POST", "/campaigns/{}/rains", map[string]string{"starts_in_ms": "0", "duration_ms": "1000",
		"drops_per_second": "8", "fall_ms": "500", "decoy_percent": "10", "pacing": `"even"`}},
	{"POST", "/campaigns/{}/rains/{}/stop", nil}, {"POST", "/campaigns/{}/resume", nil},
	{"GET", "/campaigns/{}/stats", nil}, {"GET", "/campaigns/{}/claims", nil},
	{"GET", "/campaigns/{}/rains/{}/fairness", nil}, {"GET", "/campaigns/{}/export", nil},
	{"GET", "/payouts", nil}, {"POST", "/payouts/{}/retry", nil},
	{"POST", "/payouts/{}/dismiss", map[string]string{"reason": `"r"`}},
	{"GET", "/users/{}", nil}, {"GET", "/users/{}/claims", nil}, {"GET", "/users/{}/withdrawals", nil},
	{"GET", "/withdrawals", nil}, {"GET", "/withdrawals/{}", nil},
	{"POST", "/withdrawals/{}/hold", map[string]string{"reason": `"r"`}},
	{"POST", "/withdrawals/{}/paid", map[string]string{"reason": `"r"`, "reference": `"x"`}},
	{"GET", "/approvals", nil}, {"POST", "/approvals/{}/confirm", nil},
	{"GET", "/me", nil}, {"GET", "/me/claims", nil}, {"GET", "/me/withdrawals", nil},
	{"POST", "/me/withdrawals", map[string]string{"amount": "1"}},
	{"POST", "/guests", nil}, {"GET", "/lobby", nil}, {"GET", "/auth/config", nil}, {"GET", "/whoami", nil},
	{"GET", "/audit", nil}, {"GET", "/audit/roots", nil},
	{"POST", "/statements/match", map[string]string{"kind": `"provider"`}}, {"PATCH", "/campaigns/{}", nil},
	{"GET", "/{}", nil},
}

// ask sends one request, and holds the answer to the rules for servers.
func (h *hostile) ask(r *rand.Rand) {
	of := hostileRequests[r.IntN(len(hostileRequests))]
	path := of.path
	for strings.Contains(path, "{}") {
		path = strings.Replace(path, "{}", h.id(r), 1)
	}
	if r.IntN(4) == 0 {
		path += "?" + []string{"limit", "cursor", "state", "campaign", "sponsor"}[r.IntN(5)] + "=" +
			url.QueryEscape(h.text(r))
	}
	body := ""
	if of.body != nil {
		body = object(r, of.body)
	} else if r.IntN(10) == 0 {
		body = word(r)
	}
	method := of.method
	if r.IntN(50) == 0 {
		method = []string{"PUT", "DELETE", "HEAD", "OPTIONS", "TRACE"}[r.IntN(5)]
	}
	request, err := http.NewRequestWithContext(h.t.Context(), method, h.n.url+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		return // no client could send it
	}
	for _, header := range [][2]string{
		{"Authorization", "Bearer " + []string{operatorToken, h.player, h.player + "x", ""}[r.IntN(4)]},
		{"Idempotency-Key", strconv.Itoa(r.IntN(1000))}, {"Content-Type", mangle(r, "application/json")},
		{"Accept", mangle(r, "text/csv, application/json;q=0.5")}, {"Origin", mangle(r, "https://a.example")},
		{"X-Forwarded-For", mangle(r, "198.51.100.1")},
	} {
		if r.IntN(3) > 0 && !strings.ContainsFunc(header[1], func(c rune) bool { return c < ' ' || c == 0x7f }) {
			request.Header.Set(header[0], header[1])
		}
	}
	answer, err := hostileClient.Do(request)
	if err != nil {
		if h.t.Context().Err() == nil && !strings.Contains(err.Error(), "malformed") {
			h.counted(&h.requests) // a header that the server does not take ends the connection
		}
		return
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	h.counted(&h.requests)
	switch {
	case answer.StatusCode == http.StatusServiceUnavailable:
		h.unavailable.Add(1)
	case answer.StatusCode >= 500:
		h.t.Errorf("%s %s %.300q: %s %.500s", method, path, body, answer.Status, text)
	}
}

// id is one in a path: the campaign's, a small number, or anything.
func (h *hostile) id(r *rand.Rand) string {
	switch r.IntN(3) {
	case 0:
		return h.campaign
	case 1:
		return strconv.Itoa(r.IntN(10))
	}
	return url.PathEscape(h.text(r))
}

func (h *hostile) text(r *rand.Rand) string {
	texts := testenv.HostileTexts()
	text := texts[r.IntN(len(texts))]
	return text[:min(len(text), 2000)]
}
