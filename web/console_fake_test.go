package web_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	chromium "redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
)

// consoleServer is a fake server for the console's live view as well: one campaign, its feed, and its commands.
type consoleServer struct {
	*formsServer

	campaign object
	stats    object
	feeds    map[chan string]struct{}
	mute     bool // no figures, on a feed that is open
	down     bool // no feed
}

const fakeStatsEvery = 100 * time.Millisecond // the real ones come once a second

// newConsole is a server that knows the tokens op and view, too.
func newConsole(t *testing.T) *consoleServer {
	t.Helper()
	f := &consoleServer{formsServer: newForms(t, ""), feeds: map[chan string]struct{}{}}
	f.campaign = f.readyCampaign("c1", object{"name": "Gala 2026", "split": "double_mean", "min": 1, "max": nil,
		"wins_per_user": 1})
	f.stats = object{
		"campaign": "c1", "online": 300, "taps": 1250, "won": 1180, "stock": 3820, "paid": 1176, "amount_won": 236120,
		"amount_paid": 235410, "amount_left": 763880, "amount_reclaimed": 0,
		"grabs_per_second": 92.5, "outcomes": object{"won": 1180, "empty": 50, "late": 20}, "tap_p50_ms": 1.8,
		"tap_p99_ms": 6.4, "outbox": 4, "dead": 0,
	}
	who := func(role string) object {
		return object{"role": role, "version": "v1", "server_time": f.now(), "in_process": false, "guests": true}
	}
	f.signIn(map[string]object{"op": who("operator"), operatorSecret: who("operator"), "view": who("viewer")})
	for path, answer := range map[string]func() any{
		"":          func() any { return object{"items": []object{f.campaign}} },
		"/c1":       func() any { return f.campaign },
		"/c1/stats": func() any { return f.stats },
	} {
		f.serve("GET /campaigns"+path, func(*http.Request, []byte) (int, any) { return http.StatusOK, answer() })
	}
	f.serve("GET /campaigns/c1/history", always(noHistory()))
	f.serve("GET /campaigns/c1/rains/r1/fairness", always(object{"commitment": strings.Repeat("ab", 32),
		"seed":     strings.Repeat("cd", 32),
		"schedule": object{"rain": "r1", "waves": 40, "drops": 80, "digest": strings.Repeat("ef", 32)}}))
	f.answer["GET /events"] = f.feed
	for act, state := range map[string]string{"pause": "paused", "resume": "ready", "close": "closed"} {
		f.serve("POST /campaigns/c1/"+act, func(*http.Request, []byte) (int, any) {
			return http.StatusOK, f.change(object{"state": state})
		})
	}
	f.serve("POST /campaigns/c1/rains", func(_ *http.Request, body []byte) (int, any) {
		in, _ := post{body: string(body)}.fields()["starts_in_ms"].(float64)
		const late = 500_000 // ms: it is still to come, however long a test takes
		r := f.rainFrom(f.now()+int64(in)+late, "countdown")
		f.change(object{"rains": []object{r}})
		return http.StatusCreated, r
	})
	f.serve("POST /campaigns/c1/rains/r1/stop", func(*http.Request, []byte) (int, any) {
		r := f.rainFrom(f.now()-5_000, "ended")
		f.change(object{"rains": []object{r}})
		return http.StatusOK, r
	})
	return f
}

func (f *fakeServer) rainFrom(start int64, phase string) object {
	return object{
		"id": "r1", "campaign": "c1", "phase": phase, "starts_at": start, "ends_at": start + 3_604_000,
		"duration_ms": 3_600_000, "fall_ms": 4_000,
		"drops_per_second": 8, "decoy_percent": 10, "pacing": "none", "odds": 1, "beat_ms": 1000, "first_wave": 0,
		"commitment": strings.Repeat("ab", 32),
	}
}

// change makes a newer revision of the campaign, and sends it to the feeds. The lock is held.
func (f *consoleServer) change(fields object) object {
	f.campaign = maps.Clone(f.campaign)
	maps.Copy(f.campaign, fields)
	f.campaign["revision"] = f.campaign["revision"].(int) + 1
	f.sayLocked("campaign", f.campaign)
	return f.campaign
}

// set changes something of the fake while pages look at it.
func (f *consoleServer) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fakeServer.mu.Lock() // of the answers
	defer f.fakeServer.mu.Unlock()
	change()
}

// say sends an event to every feed.
func (f *consoleServer) say(kind string, v any) {
	locked(&f.mu, func() { f.sayLocked(kind, v) })
}

func (f *consoleServer) sayLocked(kind string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	for feed := range f.feeds {
		feed <- fmt.Sprintf("event: %s\r\ndata: %s\r\n\r\n", kind, data)
	}
}

// hangUpFeeds ends every feed, and lets no other begin until down is false again.
func (f *consoleServer) hangUpFeeds() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = true
	for feed := range f.feeds {
		delete(f.feeds, feed)
		close(feed)
	}
}

func (f *consoleServer) feed(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	if f.down {
		f.mu.Unlock()
		reply(http.StatusServiceUnavailable, object{"status": 503, "code": "unavailable",
			"title": "Service Unavailable"})(w, r)
		return
	}
	feed := make(chan string, 64)
	f.feeds[feed] = struct{}{}
	f.mu.Unlock()
	defer func() {
		locked(&f.mu, func() { delete(f.feeds, feed) })
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	tick := time.NewTicker(fakeStatsEvery)
	defer tick.Stop()
	event := ": a comment first\n\n"
	for {
		if _, err := io.WriteString(w, event); err != nil || http.NewResponseController(w).Flush() != nil {
			return
		}
		event = ""
		select {
		case <-r.Context().Done():
			return
		case said, ok := <-feed:
			if !ok {
				return
			}
			event = said
		case <-tick.C:
			f.mu.Lock()
			if !f.mute {
				data, _ := json.Marshal(f.stats)
				event = "event: stats\ndata: " + string(data) + "\n\n"
			}
			f.mu.Unlock()
		}
	}
}

// open opens the campaign in the console, of an operator who is signed in.
func (f *consoleServer) open(t *testing.T, o chromium.Options) *browsertest.Page {
	t.Helper()
	return f.openConsole(t, o, "#/campaigns/c1")
}
