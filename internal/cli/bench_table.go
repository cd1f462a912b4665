package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"redrain/internal/bench"
)

// benchReport is a report that a table shows.
type benchReport bench.Report

func (b benchReport) show(t *table) {
	b.showTaps(t)
	w, share := b.Waves, ""
	if w.Expected > 0 {
		share = fmt.Sprintf(" (%.2f %%)", 100*float64(w.Received)/float64(w.Expected))
	}
	t.row("waves", fmt.Sprintf("%d of %d came%s, %d of all after their moment", w.Received, w.Expected, share, w.Late))
	if w.SpreadMax > 0 {
		t.row("", fmt.Sprintf("first to last player: half of the waves within %s, all within %s", micros(w.SpreadP50),
			micros(w.SpreadMax)))
	}
	t.row("reconnects", fmt.Sprintf("%d; %d connections broke, %d were closed by the server%s", b.Reconnects, b.Broken,
		bench.Sum(b.Closes), tallied(b.Closes)))
	t.row("errors", fmt.Sprintf("%d from the server%s, %d messages that break the protocol%s", bench.Sum(b.Errors),
		tallied(b.Errors), bench.Sum(b.Faults), tallied(b.Faults)))
	t.row("bench itself", fmt.Sprintf("%s of processor time, %.1f µs a tap",
		millis(b.ProcessorMS).Round(10*time.Millisecond), b.ProcessorPerTap))
	t.benchLedger(b.Ledger)
}

func (b benchReport) showTaps(t *table) {
	t.row("players", fmt.Sprintf("%d of %d joined, on %s", b.Joined, b.Players, strings.Join(b.URLs, ", ")))
	if w := b.Waiting; w.Waited > 0 {
		t.row("waiting room", fmt.Sprintf("%d had to wait, %d of them came in: half after %s, the last after %s",
			w.Waited, w.Admitted, millis(w.P50), millis(w.Max)))
		t.row("", fmt.Sprintf("nine in ten came in within %d places of their turn, all within %d", w.AstrayP90,
			w.AstrayMax))
	}
	for why, n := range b.NotJoined {
		t.row("", fmt.Sprintf("%d could not: %s", n, why))
	}
	mode := "each player again when the result is there"
	if b.ThinkMS > 0 {
		mode += fmt.Sprintf(" and %s have passed", millis(b.ThinkMS))
	}
	if b.Mode == "open" {
		mode = fmt.Sprintf("%.0f wanted a second, timed from the moment when each was due", b.RateWanted)
	}
	t.row("taps", fmt.Sprintf("%d in %s, %s", b.Taps, millis(b.DurationMS).Round(10*time.Millisecond), mode))
	t.row("taps/s", fmt.Sprintf("%.0f answered", b.TapsPerSecond))
	oftenFirst := func(x, y string) int {
		return cmp.Or(cmp.Compare(b.Outcomes[y], b.Outcomes[x]), cmp.Compare(x, y))
	}
	for _, outcome := range slices.SortedFunc(maps.Keys(b.Outcomes), oftenFirst) {
		n := b.Outcomes[outcome]
		t.row("  "+outcome, fmt.Sprintf("%d (%.1f %%)", n, 100*float64(n)/float64(b.Answered)))
	}
	some(t, "  not answered", b.Unanswered)
	some(t, "  lost with their connection", b.Lost)
	some(t, "  not sent, nothing in the air", b.NothingInAir)
	some(t, "  not sent, nobody connected", b.NobodyThere)
	if b.Starvations > 0 {
		t.row("starved", fmt.Sprintf("%.1f %% of the players' time there was nothing left to tap", b.StarvedPercent))
	}
	l := b.Latency
	t.row("tap → result", fmt.Sprintf("p50 %s   p90 %s   p99 %s   p99.9 %s   max %s", micros(l.P50), micros(l.P90),
		micros(l.P99), micros(l.P999), micros(l.Max)))
}

// micros formats a duration in microseconds with three digits.
func micros(us int64) string {
	d := time.Duration(us) * time.Microsecond
	switch {
	case d < time.Millisecond:
		return d.String()
	case d < time.Second:
		return fmt.Sprintf("%.3gms", d.Seconds()*1000)
	default:
		return fmt.Sprintf("%.3gs", d.Seconds())
	}
}

// tallied formats counts, such as " (4000: 3, 4008: 1)"; "" for none.
func tallied(counts map[string]int64) string {
	if len(counts) == 0 {
		return ""
	}
	parts := make([]string, 0, len(counts))
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s: %d", k, counts[k]))
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func (t *table) benchLedger(l bench.Ledger) {
	t.row("wins told", fmt.Sprintf("%d, %s", l.Told, l.AmountTold))
	if !l.Checked {
		t.row("in the ledger", "NOT CHECKED: "+l.Reason)
		return
	}
	verification := "every one, once, as told"
	if l.Unsettled+l.Missing+l.Wrong+l.Twice > 0 {
		verification = fmt.Sprintf("%d; MISSING %d, ON THE WAY %d, DIFFERENT %d, TWICE %d", l.Settled, l.Missing,
			l.Unsettled, l.Wrong, l.Twice)
	}
	t.row("in the ledger", fmt.Sprintf("%s; %s after the last tap", verification,
		millis(l.WaitedMS).Round(10*time.Millisecond)))
	for _, e := range l.Examples {
		t.row("", e)
	}
	if l.Untold > 0 {
		t.row("", fmt.Sprintf("%d more of the players' are there, whose results got lost on their way", l.Untold))
	}
}

// benchScreen shows the progress of a run on standard error: in one line of a terminal, elsewhere in many.
type benchScreen struct {
	app  *App
	live bool

	mu      sync.Mutex // also of standard error
	told    time.Time  // time of the last line about joined players
	follows bool       // the line shows the game now
}

func newBenchScreen(app *App) *benchScreen {
	return &benchScreen{app: app, live: app.terminal(app.Stderr)}
}

func (b *benchScreen) say(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.write(format, args...)
}

// write is say for a caller with the lock.
func (b *benchScreen) write(format string, args ...any) {
	text := printable(fmt.Sprintf(format, args...))
	if b.live {
		text = "\r" + wrapOff + text + clearLine + wrapOn
	} else {
		text += "\n"
	}
	fmt.Fprint(b.app.Stderr, text) //nolint:errcheck // there is no other output
}

// close clears the line for the output that follows.
func (b *benchScreen) close() {
	if b.live {
		b.mu.Lock()
		defer b.mu.Unlock()
		fmt.Fprint(b.app.Stderr, "\r"+clearLine) //nolint:errcheck // as above
	}
}

// arrived shows the number of joined players from time to time, until follow is called.
func (b *benchScreen) arrived(joined, players int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := time.Now(); !b.follows && (joined == players || now.Sub(b.told) >= b.app.WatchEvery) {
		b.told = now
		b.write("%d of %d players have joined", joined, players)
	}
}

// follow shows the progress until done is called.
func (b *benchScreen) follow(crowd *bench.Crowd, duration time.Duration) (done func()) {
	b.mu.Lock()
	b.follows = true
	b.mu.Unlock()
	ctx, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		began, before, last := time.Now(), int64(0), time.Now()
		for bench.Pause(ctx, b.app.WatchEvery) {
			g, now := crowd.Progress(), time.Now()
			rate := float64(g.Answered-before) / now.Sub(last).Seconds()
			before, last = g.Answered, now
			b.say("%3.0fs of %s  %d players  %8.0f taps/s  %d won  %d waiting%s",
				now.Sub(began).Seconds(), duration, g.Connected, rate, g.Won, g.Pending, mishaps(g))
		}
	})
	return func() {
		stop()
		work.Wait()
	}
}

func mishaps(g bench.Progress) string {
	text := ""
	if g.Reconnects > 0 {
		text += "  " + count(int(g.Reconnects), "reconnect")
	}
	if g.Faults > 0 {
		text += "  " + count(int(g.Faults), "fault") + " of the protocol"
	}
	return text
}
