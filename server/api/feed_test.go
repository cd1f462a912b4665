package api

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

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

// TestFeedEnds: each write to a reader has its own end in time; when the feeds are hung up all end, and one that
// comes after that ends at once, since the process waits for it.
func TestFeedEnds(t *testing.T) {
	e := NewEvents(EventsOptions{Campaigns: cluster.NewKnown(), Clock: func() int64 { return 1 }})
	a := New(Options{Events: e})
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
		if err := a.feed(r, httptest.NewRequest(http.MethodGet, "/api/v1/events", nil), caller{}); err != nil {
			t.Error(err)
		}
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
