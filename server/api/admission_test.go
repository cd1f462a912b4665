package api

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"redrain/grab/store"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// turns tells each player the same turn.
type turns struct {
	turn store.Turn
	err  error
}

func (d turns) Ask(_ context.Context, c *rain.Campaign, user string) (store.Turn, error) {
	if c.ID != "c1" || user != "u" {
		return store.Turn{}, errors.New("asked for another one")
	}
	return d.turn, d.err
}

// oneCampaign is a registry with a campaign c1.
type oneCampaign struct{ Campaigns }

func (oneCampaign) Get(_ context.Context, id string) (*rain.Campaign, error) {
	if id != "c1" {
		return nil, posting.ErrUnknownCampaign
	}
	return &rain.Campaign{ID: id}, nil
}

// A player is told their turn, and when to ask again also by the header; whoever waits for long keeps no connection.
func TestAdmission(t *testing.T) {
	waits := func(retry, wait time.Duration) store.Turn { return store.Turn{Position: 7, Retry: retry, Wait: wait} }
	for name, c := range map[string]struct {
		door             turns
		query            string
		status           int
		body, retry, end string
	}{
		"in": {turns{turn: store.Turn{Admitted: true, New: true}}, "?campaign=c1", 200,
			`{"admitted":true}`, "", ""},
		"soon": {turns{turn: waits(1100*time.Millisecond, -1)}, "?campaign=c1", 200,
			`{"admitted":false,"position":7,"retry_after_ms":1100}`, "2", ""},
		"later": {turns{turn: waits(8*time.Second, time.Minute)}, "?campaign=c1", 200,
			`{"admitted":false,"position":7,"retry_after_ms":8000,"wait_ms":60000}`, "8", "close"},
		"unknown": {turns{}, "?campaign=c2", 404, `"unknown_campaign"`, "", ""},
		"of none": {turns{}, "", 422, `"campaign"`, "", ""},
		"a fault": {turns{err: context.DeadlineExceeded}, "?campaign=c1", 503, `"unavailable"`, "1", ""},
	} {
		a := New(Options{Campaigns: oneCampaign{}, Door: c.door, Log: paytest.Quiet})
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/admission"+c.query, nil)
		if err := a.admission(w, r, caller{user: "u"}); err != nil {
			fail(w, r, paytest.Quiet, err)
		}
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.body) ||
			w.Header().Get("Retry-After") != c.retry ||
			w.Header().Get("Connection") != c.end {
			t.Errorf("%s: %d %s %v", name, w.Code, w.Body, w.Header())
		}
	}
}
