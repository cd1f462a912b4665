package room

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/internal/testenv"
)

// value is what a counter or gauge stands at.
func value(t *testing.T, c prometheus.Collector) float64 {
	t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(c)
	families, err := reg.Gather()
	if err != nil || len(families) != 1 || len(families[0].GetMetric()) != 1 {
		t.Fatalf("not one metric: %v (%v)", families, err)
	}
	m := families[0].GetMetric()[0]
	return m.GetCounter().GetValue() + m.GetGauge().GetValue()
}

func TestMetricsHaveTheContractsNames(t *testing.T) {
	reg := prometheus.NewRegistry()
	NewLobby(Options{Registerer: reg})
	families := testenv.Got(reg.Gather()).Must(t)
	var names []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, label := range m.GetLabel() {
				name += "," + label.GetName() + "=" + label.GetValue()
			}
			names = append(names, name)
		}
	}
	want := []string{
		"redrain_connections", "redrain_fanout_dropped_total,lane=rain", "redrain_fanout_dropped_total,lane=results",
		"redrain_fanout_frames_total", "redrain_slow_disconnects_total",
	}
	testenv.Equal(t, names, want, "metrics")
}
