package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"redrain/client/openapi"
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

// An alarm that is raised again is the same one; after a day without it is over; and of too many the newest stay.
func TestOpenAlarms(t *testing.T) {
	day := alarmsKept.Milliseconds()
	var o openAlarms
	raise := func(code, campaign, message string, now int64) {
		o.raise(cluster.Alarm{Code: code, Campaign: campaign, Message: message}, now)
	}
	raise("reconciliation", "c1", "5 too few", 1000)
	raise("panic", "", "a torn round", 2000)
	raise("reconciliation", "c1", "6 too few", 3000)
	raise("reconciliation", "c2", "1 too many", 3000)
	want := []openapi.OpenAlarm{
		{Code: "reconciliation", Campaign: "c1", Message: "6 too few", Since: 1000, At: 3000, Times: 2},
		{Code: "reconciliation", Campaign: "c2", Message: "1 too many", Since: 3000, At: 3000, Times: 1},
		{Code: "panic", Message: "a torn round", Since: 2000, At: 2000, Times: 1},
	}
	testenv.Equal(t, o.list(3000), want, "open alarms")
	testenv.Equal(t, o.list(2000+day+1), want[:2], "a day later")
	raise("reconciliation", "c1", "again", 3000+2*day)
	if got := o.list(3000 + 2*day); len(got) != 1 || got[0].Times != 1 || got[0].Since != 3000+2*day {
		t.Errorf("raised after it was over: %+v", got)
	}
	for i := range mostAlarms + 50 {
		raise("flood", fmt.Sprint(i), "", 3001+2*day+int64(i))
	}
	if got := o.list(4000 + 2*day); len(got) != mostAlarms || got[0].Campaign != fmt.Sprint(mostAlarms+49) {
		t.Errorf("%d alarms, the newest %+v", len(got), got[0])
	}
}

// A condition is open while it is repeated, by any node. Its beginning is news, and its repetitions are not.
func TestConditions(t *testing.T) {
	var o openAlarms
	raise := func(message string, now int64, isNews bool) {
		t.Helper()
		got := o.raise(cluster.Alarm{Code: "unpaid", Message: message, LastsMS: 10_000}, now)
		testenv.Equal(t, got, isNews, "news at %d", now)
	}
	raise("30 s", 1000, true)
	raise("32 s", 3000, false)
	raise("33 s", 4000, false)
	want := []openapi.OpenAlarm{{Code: "unpaid", Message: "33 s", Since: 1000, At: 4000, Times: 1}}
	testenv.Equal(t, o.list(14_000), want, "while it lasts")
	testenv.Equal(t, len(o.list(14_001)), 0, "when it has ended")
	raise("31 s", 20_000, true)
	want = []openapi.OpenAlarm{{Code: "unpaid", Message: "31 s", Since: 20_000, At: 20_000, Times: 1}}
	testenv.Equal(t, o.list(20_000), want, "the next one")
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
