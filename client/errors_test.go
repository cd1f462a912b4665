package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"redrain/client"
	"redrain/internal/testenv"
)

func TestErrors(t *testing.T) {
	tests := map[string]struct {
		status       int
		kind, answer string
		code, text   string
	}{
		"problem": {409, "application/problem+json", `{"type":"about:blank","title":"Conflict","status":409,` +
			`"code":"insufficient_funds","detail":"the sponsor has 5"}`,
			"insufficient_funds", "the sponsor has 5 (insufficient_funds)"},
		"fields": {422, "application/problem+json", `{"code":"invalid","detail":"it makes no sense",` +
			`"errors":[{"field":"budget","message":"is required"},{"field":"min","message":"is 1 or more"}]}`,
			"invalid", "it makes no sense: budget is required; min is 1 or more (invalid)"},
		"a proxy's page": {502, "text/html", "<html>oh</html>", "", "Bad Gateway (HTTP 502)"},
		"nothing":        {401, "", "", "", "Unauthorized (HTTP 401)"},
		"an internal error": {500, "application/problem+json", `{"code":"internal","detail":"internal error",` +
			`"request_id":"r1"}`, "internal", "internal error (internal, request r1)"},
		"a wrong status": {503, "application/json", `{"status":200,"code":"unavailable"}`, "unavailable",
			"Service Unavailable (unavailable)"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c, _ := serve(t, tc.status, tc.kind, tc.answer)
			_, err := c.Campaign(t.Context(), "c1")
			if err == nil || err.Error() != tc.text {
				t.Errorf("error %v, want %s", err, tc.text)
			}
			if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != tc.code {
				t.Errorf("code of %v", err)
			}
			if !client.HasStatus(err, tc.status) || client.HasStatus(err, 200) {
				t.Errorf("status of %v", err)
			}
		})
	}
}

func TestAnswersThatAreNotRedrains(t *testing.T) {
	c, _ := serve(t, http.StatusOK, "text/html", "<html>")
	if _, err := c.Lobby(t.Context()); err == nil || !strings.Contains(err.Error(), "GET /api/v1/lobby") {
		t.Errorf("%v", err)
	}
}

func TestNoAnswer(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	address := strings.Replace(s.URL, "//", "//me:hunter2@", 1)
	s.Close()
	c, err := client.New(client.Options{Server: address})
	testenv.Must(t, err)
	_, err = c.Lobby(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no answer from http://me:xxxxx@") ||
		strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
}

func TestTimeout(t *testing.T) {
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer s.Close()
	defer close(release)
	c, err := client.New(client.Options{Server: s.URL, Timeout: time.Millisecond})
	testenv.Must(t, err)
	defer c.Close()
	testenv.WantErr(t, testenv.Err(c.Lobby(t.Context())), context.DeadlineExceeded)
}

func TestNewRefusesWhatIsNoServer(t *testing.T) {
	for _, address := range []string{"", "localhost:8080", "ftp://host", "http://", "http://host?x=1", "http://host#x",
		"http://a b"} {
		testenv.WantErr(t, testenv.Err(client.New(client.Options{Server: address})), client.ErrBadServer, address)
	}
}

// TestWhatWaitsForASecondPerson is an error that says so: it was not done.
func TestWhatWaitsForASecondPerson(t *testing.T) {
	c, _ := serve(t, http.StatusAccepted, "application/json", `{"approval":"a7","action":"deposit","amount":500}`)
	_, err := c.Deposit(t.Context(), "acme", "wire-1", 500)
	pending, ok := errors.AsType[*client.PendingError](err)
	if !ok || pending.Approval.Amount != 500 || !strings.Contains(err.Error(), "approval confirm a7") {
		t.Errorf("%v", err)
	}
}
