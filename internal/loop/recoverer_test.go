package loop_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/loop"
	"redrain/internal/testenv"
)

// A panic ends only its round. It is logged with its line, counted and raised as an alarm, and the next round runs.
func TestPanicEndsOneRound(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var alarms []string
	reg := prometheus.NewRegistry()
	g, err := loop.NewRecoverer(reg, slog.New(slog.NewTextHandler(&log, nil)), func(part, message string) {
		alarms = append(alarms, part+": "+message)
	})
	testenv.Must(t, err)
	if g.Do("settle", breaks) {
		t.Error("a round that panicked is reported as one that ended well")
	}
	ran := false
	if !g.Do("settle", func() { ran = true }) || !ran {
		t.Error("the round after a panic did not run")
	}
	if len(alarms) != 1 || !strings.Contains(alarms[0], "settle") || !strings.Contains(alarms[0], "torn") {
		t.Errorf("the alarms are %q, want one that names the part and the panic", alarms)
	}
	for _, want := range []string{"level=ERROR", "part=settle", "panic=torn", "loop_test.breaks", "recoverer_test.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q: %s", want, log.String())
		}
	}
	err = testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP redrain_panics_total Panics that were caught, by the part of the process.`+
		` Each is a fault of the program, and its stack is in the log.
# TYPE redrain_panics_total counter
redrain_panics_total{part="settle"} 1
`))
	if err != nil {
		t.Error(err)
	}
}

// A part that panics in each round is one alarm, until it has gone without a panic for a while; another part has its
// own.
func TestPanicsOfOnePartAreOneAlarm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var alarms []string
		g, err := loop.NewRecoverer(nil, slog.New(slog.DiscardHandler), func(part, _ string) {
			alarms = append(alarms, part)
		})
		testenv.Must(t, err)
		pressed := func(want ...string) {
			t.Helper()
			testenv.Equal(t, alarms, want, "the alarms are")
		}
		for range 3600 {
			g.Do("relay", breaks)
			<-time.After(time.Second) // of the bubble
		}
		pressed("relay")
		testenv.WantErr(t, g.Try("settle", func() error { breaks(); return nil }), loop.ErrPanic,
			"a round that panicked")
		pressed("relay", "settle")
		<-time.After(9 * time.Minute)
		g.Do("relay", breaks)
		pressed("relay", "settle")
		<-time.After(11 * time.Minute)
		g.Do("relay", breaks)
		pressed("relay", "settle", "relay")
	})
}

// Without a guard a panic is caught all the same, and logged.
func TestNilGuardCatches(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	var g *loop.Recoverer
	if g.Do("relay", breaks) || !strings.Contains(log.String(), "panic=torn") {
		t.Errorf("the panic is not in the log: %q", log.String())
	}
}

func breaks() { panic("torn") }
