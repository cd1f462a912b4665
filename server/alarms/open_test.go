package alarms

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/client/openapi"
	"redrain/internal/testenv"
	"redrain/server/cluster"
)

// An alarm that is raised again is the same one; after a day without it is over; and of too many the newest stay.
func TestOpenAlarms(t *testing.T) {
	day := kept.Milliseconds()
	var now int64
	o := NewOpen(func() int64 { return now }, nil)
	raise := func(code, campaign, message string, at int64) {
		now = at
		o.Raise(cluster.Alarm{Code: code, Campaign: campaign, Message: message})
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
	testenv.Equal(t, o.List(), want, "open alarms")
	now = 2000 + day + 1
	testenv.Equal(t, o.List(), want[:2], "a day later")
	raise("reconciliation", "c1", "again", 3000+2*day)
	if got := o.List(); len(got) != 1 || got[0].Times != 1 || got[0].Since != 3000+2*day {
		t.Errorf("raised after it was over: %+v", got)
	}
	for i := range most + 50 {
		raise("flood", fmt.Sprint(i), "", 3001+2*day+int64(i))
	}
	if got := o.List(); len(got) != most || got[0].Campaign != fmt.Sprint(most+49) {
		t.Errorf("%d alarms, the newest %+v", len(got), got[0])
	}
}

// A condition is open while it is repeated, by any node. Its beginning is news, and its repetitions are not.
func TestConditions(t *testing.T) {
	var now int64
	o := NewOpen(func() int64 { return now }, nil)
	raise := func(message string, at int64, isNews bool) {
		t.Helper()
		now = at
		got := o.Raise(cluster.Alarm{Code: "unpaid", Message: message, LastsMS: 10_000})
		testenv.Equal(t, got, isNews, "news at %d", now)
	}
	raise("30 s", 1000, true)
	raise("32 s", 3000, false)
	raise("33 s", 4000, false)
	want := []openapi.OpenAlarm{{Code: "unpaid", Message: "33 s", Since: 1000, At: 4000, Times: 1}}
	now = 14_000
	testenv.Equal(t, o.List(), want, "while it lasts")
	now = 14_001
	testenv.Equal(t, len(o.List()), 0, "when it has ended")
	raise("31 s", 20_000, true)
	want = []openapi.OpenAlarm{{Code: "unpaid", Message: "31 s", Since: 20_000, At: 20_000, Times: 1}}
	testenv.Equal(t, o.List(), want, "the next one")
}

// TestMetric: the metric counts the open alarms of each code. A code stays, at 0.
func TestMetric(t *testing.T) {
	var now int64
	registry := prometheus.NewPedanticRegistry()
	o := NewOpen(func() int64 { return now }, registry)
	want := func(lines ...string) {
		t.Helper()
		text := ""
		if len(lines) > 0 {
			text = "# HELP redrain_alarms Open alarms, by code. Each node counts those of all nodes.\n" +
				"# TYPE redrain_alarms gauge\n" + strings.Join(lines, "\n") + "\n"
		}
		testenv.Must(t, testutil.GatherAndCompare(registry, strings.NewReader(text)))
	}
	want()
	for _, campaign := range []string{"c1", "c2", "c2"} {
		o.Raise(cluster.Alarm{Code: "forged", Campaign: campaign})
	}
	o.Raise(cluster.Alarm{Code: "unpaid", LastsMS: 10_000})
	want(`redrain_alarms{code="forged"} 2`, `redrain_alarms{code="unpaid"} 1`)
	now = 10_001
	want(`redrain_alarms{code="forged"} 2`, `redrain_alarms{code="unpaid"} 0`)
}
