package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
)

// Event is one event of a trace, of the page's main thread: something that took a while, or a moment that the page
// has marked, by performance.mark with a name that begins with [Mark].
type Event struct {
	Name  string
	Start time.Duration // on a clock of the browser's
	Wall  time.Duration // how long it took; 0 for a mark
	// how long the thread was running in it: other load on the machine does not count; 0 where it is not told
	CPU time.Duration
}

// traceEvent is an event as Chromium writes it (the Trace Event Format); times are microseconds.
type traceEvent struct {
	Name     string  `json:"name"`
	Phase    string  `json:"ph"`
	Process  int     `json:"pid"`
	Thread   int     `json:"tid"`
	Start    float64 `json:"ts"`
	Duration float64 `json:"dur"`
	CPU      float64 `json:"tdur"`
}

// Mark begins the names of the marks that are in a trace.
const Mark = "redrain-"

// traceWithin is how long the browser may take to hand over a trace. It is some hundred thousand events, one message
// for a few of them.
const traceWithin = 6 * Patience

// mark finds the page's thread among all of the browser's: the page itself puts it into the trace.
const mark = Mark + "trace"

// Trace records what the page's main thread does while f runs. There can be one trace at a time in a browser.
func (p *Page) Trace(f func() error) ([]Event, error) {
	var raw []traceEvent
	complete := make(chan struct{})
	listening, done := context.WithCancel(p.ctx)
	defer done()
	err := chromedp.Listen(listening, func(event any) {
		switch e := event.(type) {
		case *tracing.EventDataCollected:
			for _, v := range e.Value {
				var one traceEvent
				if json.Unmarshal(v, &one) == nil { // else it is of a kind that is not looked at
					raw = append(raw, one)
				}
			}
		case *tracing.EventTracingComplete:
			close(complete)
		}
	})
	if err != nil {
		return nil, err
	}
	config := &tracing.TraceConfig{
		RecordMode: tracing.TraceConfigRecordModeRecordUntilFull,
		IncludedCategories: []string{"devtools.timeline", "disabled-by-default-devtools.timeline", "blink.user_timing",
			"v8", "toplevel"},
		ExcludedCategories: []string{"*"},
	}
	if err := p.Do(Patience, call(tracing.Start, tracing.StartParams{TraceConfig: config})); err != nil {
		return nil, fmt.Errorf("start a trace: %w", err)
	}
	_, marked := Eval[bool](p, `performance.mark("`+mark+`"), performance.clearMarks("`+mark+`"), true`)
	failed := f()
	if err := p.Do(Patience, call(tracing.End, cdp.Empty{})); err != nil {
		return nil, fmt.Errorf("end a trace: %w", err)
	}
	select {
	case <-complete:
	case <-time.After(traceWithin):
		return nil, fmt.Errorf("the browser has not told the trace within %v", traceWithin)
	}
	if failed != nil || marked != nil {
		return nil, fmt.Errorf("while tracing: %w", either(failed != nil, failed, marked))
	}
	return ofPage(raw)
}

// ofPage are the whole events of the thread that has the mark, and its marks.
func ofPage(raw []traceEvent) ([]Event, error) {
	thread := [2]int{}
	for _, e := range raw {
		if e.Name == mark {
			thread = [2]int{e.Process, e.Thread}
		}
	}
	if thread == [2]int{} {
		return nil, fmt.Errorf("the page's mark is not among the %d events of the trace", len(raw))
	}
	const unit = float64(time.Microsecond)
	var events []Event
	for _, e := range raw {
		wanted := e.Phase == "X" || strings.HasPrefix(e.Name, Mark)
		if wanted && [2]int{e.Process, e.Thread} == thread {
			events = append(events, Event{
				Name: e.Name, Start: time.Duration(e.Start * unit), Wall: time.Duration(e.Duration * unit),
				CPU: time.Duration(e.CPU * unit),
			})
		}
	}
	return events, nil
}
