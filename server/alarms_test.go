package server

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"redrain/internal/signed"
	"redrain/internal/testenv"
	"redrain/payout/withdraw/webhook/webhooktest"
	"redrain/server/alarms"
)

// TestAlarmsGoOut: an alarm is posted to --alarm-url, signed with the secret, and counted in the metrics.
func TestAlarmsGoOut(t *testing.T) {
	type event struct {
		Type string `json:"type"`
		Data struct {
			Code     string `json:"code"`
			Campaign string `json:"campaign"`
			Message  string `json:"message"`
		} `json:"data"`
	}
	key, err := signed.ParseSecret(webhooktest.Secret)
	testenv.Must(t, err)
	events := make(chan event, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var e event
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &e)
		}
		if err == nil {
			err = signed.Verify(key, r.Header, body, time.Now())
		}
		if err != nil {
			t.Error(err)
		}
		events <- e
	}))
	defer receiver.Close()
	cfg := ownConfig("")
	cfg.AlarmURL, cfg.AlarmFormat, cfg.AlarmSecret = receiver.URL, alarms.Standard, webhooktest.Secret
	serveOn(t, cfg, func(s *Server) {
		s.bus.Alarm("forged", "c1", "a test")
		got := <-events
		testenv.Equal(t, got.Type, "redrain.alarm.raised", "the event's type")
		testenv.Equal(t, [3]string{got.Data.Code, got.Data.Campaign, got.Data.Message},
			[3]string{"forged", "c1", "a test"}, "the alarm")
		testenv.Eventually(t, 10*time.Second, "a rain of the demo is near", func() bool {
			return metric(t, s, "redrain_rain_near") == 1
		})
		testenv.Equal(t, metric(t, s, "redrain_alarms"), 1, "open alarms")
	})
}

// metric returns the sum of a metric's gauges.
func metric(t *testing.T, s *Server, name string) (sum float64) {
	t.Helper()
	families, err := s.metrics.Gather()
	testenv.Must(t, err)
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			sum += m.GetGauge().GetValue()
		}
	}
	return sum
}
