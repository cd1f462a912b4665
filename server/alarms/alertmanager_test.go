package alarms

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/server/cluster"
)

// TestARealAlertmanager accepts an alarm, notifies its receiver, and does so again when the alarm has ended.
func TestARealAlertmanager(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	type notice struct {
		Status string `json:"status"`
		Alerts []struct {
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
			StartsAt    time.Time         `json:"startsAt"`
		} `json:"alerts"`
	}
	notices := make(chan notice, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var n notice
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			t.Error(err)
		}
		notices <- n
	}))
	t.Cleanup(receiver.Close)
	address := testenv.StartAlertmanager(t, receiver.URL).Addr
	r := newRig(t)
	began := time.Now().Add(-time.Minute).UnixMilli()
	r.now = began
	c, err := newChannel(Options{URL: "http://" + address, Format: Alertmanager, Name: "rr",
		Secret: func() string { return "" }})
	testenv.Must(t, err)
	r.channel = c
	t.Cleanup(c.close)
	r.open.Raise(cluster.Alarm{Code: "unpaid", Message: "33 s", LastsMS: 10_000})
	for _, want := range []string{"firing", "resolved"} {
		r.round(t.Context())
		testenv.Equal(t, r.count(resultFailed), 0, "failed posts")
		got := <-notices
		testenv.Equal(t, got.Status, want, "the notice")
		testenv.Equal(t, len(got.Alerts), 1, "alerts")
		a := got.Alerts[0]
		testenv.Equal(t, a.Labels, map[string]string{"alertname": "redrain_alarm", "code": "unpaid",
			"installation": "rr"}, "labels")
		testenv.Equal(t, a.Annotations["summary"], "33 s", "the summary")
		testenv.Equal(t, a.StartsAt.UnixMilli(), began, "its start")
		r.now = time.Now().UnixMilli() // the condition has ended
	}
}
