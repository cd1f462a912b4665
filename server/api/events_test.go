package api

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/server/cluster"
	"redrain/server/timeout"
)

// reader is a feed's, who notes until when each write may take.
type reader struct {
	*httptest.ResponseRecorder
	deadline time.Time
	wrote    func(within time.Duration)
}

func (r *reader) SetWriteDeadline(t time.Time) error {
	r.deadline = t
	return nil
}

func (r *reader) Write(data []byte) (int, error) {
	r.wrote(time.Until(r.deadline))
	return r.ResponseRecorder.Write(data)
}

// TestFeedEnds: each write to a reader has a deadline. HangUp ends all feeds, and a later one ends at once, because the
// process waits for it.
func TestFeedEnds(t *testing.T) {
	e := NewEvents(EventsOptions{Campaigns: cluster.NewKnown(), Clock: func() int64 { return 1 }})
	a := newAPI(Options{Events: e})
	writes := 0
	serve := func() {
		t.Helper()
		r := &reader{ResponseRecorder: httptest.NewRecorder()}
		r.wrote = func(within time.Duration) {
			if within <= 0 || within > timeout.Progress {
				t.Errorf("write %d may take %s", writes, within)
			}
			r.deadline = time.Time{}
			switch writes++; writes {
			case 1:
				e.Changed(&rain.Campaign{ID: "c1"})
			case 2:
				e.HangUp()
			}
		}
		_, err := a.feed(&request{Request: httptest.NewRequest(http.MethodGet, "/api/v1/events", nil), w: r})
		testenv.Must(t, err)
	}
	serve()
	if writes != 2 || len(e.feeds) != 0 {
		t.Errorf("%d writes, %d feeds", writes, len(e.feeds))
	}
	serve()
	if writes != 3 || len(e.feeds) != 0 {
		t.Errorf("late: %d writes, %d feeds", writes, len(e.feeds))
	}
}

// An invalid query is refused with the field's name. A valid one reaches the ledger unchanged.
func TestCampaignQuery(t *testing.T) {
	for query, field := range map[string]string{
		"sort=size": "sort", "order=up": "order", "state=over": "state", "q=" + strings.Repeat("a+", 9): "q",
		"q=" + strings.Repeat("a", 201): "q", "q=%ff": "q", "sponsor=%ff": "sponsor",
	} {
		values, err := url.ParseQuery(query)
		testenv.Must(t, err)
		if _, err := campaignQueryOf(values); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", query, err)
		}
	}
	values := url.Values{"q": {" 红包  gala "}, "sponsor": {"acme"}, "state": {"raining"}, "sort": {"name"},
		"order": {"asc"}}
	q, err := campaignQueryOf(values)
	if err != nil || !slices.Equal(q.Words, []string{"红包", "gala"}) || q.Sponsor != "acme" || q.State != "raining" ||
		q.Order != ledger.ByName || !q.Upwards {
		t.Errorf("%+v, %v", q, err)
	}
	if q, err := campaignQueryOf(nil); err != nil || q.Order != ledger.ByCreation || q.Upwards || len(q.Words) > 0 {
		t.Errorf("without a query: %+v, %v", q, err)
	}
}
