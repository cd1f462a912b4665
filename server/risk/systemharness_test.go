package risk

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/internal/signed"
	"redrain/internal/testenv"
	"redrain/payout/ledger/standing"
)

const secret = "whsec_cmVkcmFpbi10ZXN0LXNlY3JldC1vZi0zMi1ieXRlcyE="

// book keeps verdicts in memory.
type book struct {
	mu    sync.Mutex
	fails error
	of    map[string]standing.Verdict // the newest about each player
	given int                         // transactions
	stuck chan struct{}               // nil, or: each waits for it to be closed
}

func newBook() *book { return &book{of: map[string]standing.Verdict{}} }

func (b *book) Give(_ context.Context, by string, given ...standing.Verdict) (int, error) {
	if b.stuck != nil {
		<-b.stuck
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fails != nil {
		return 0, b.fails
	}
	b.given++
	for _, v := range given {
		v.By = by
		b.of[v.User] = v
	}
	return len(given), nil
}

func (b *book) newest(user string) (standing.Verdict, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v, found := b.of[user]
	return v, found
}

func (b *book) act(user string) standing.VerdictAct {
	v, _ := b.newest(user)
	return v.Act
}

// lines counts the lines of a log.
type lines struct {
	mu sync.Mutex
	n  int
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	return len(p), nil
}

func (l *lines) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

// rig is a System that asks a server of the test's.
type rig struct {
	*System

	book   *book
	log    *lines
	alarms chan string
	reg    *prometheus.Registry
	asked  chan Request // what came, in order
}

// open makes a rig whose server answers with handler. The server first verifies the request, as docs/use/abuse.md
// requires.
func open(t *testing.T, handler http.HandlerFunc, with func(*SystemOptions)) *rig {
	t.Helper()
	key, err := signed.ParseSecret(secret)
	testenv.Must(t, err)
	r := &rig{book: newBook(), log: &lines{}, alarms: make(chan string, 100),
		reg: prometheus.NewRegistry(), asked: make(chan Request, 10_000)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		body, err := io.ReadAll(hr.Body)
		if err != nil {
			return // the sender has gone
		}
		var q Request
		if err := signed.Verify(key, hr.Header, body, time.Now()); err != nil {
			t.Errorf("a request that is not signed: %v", err)
		}
		if err := json.Unmarshal(body, &q); err != nil || q.ID == "" || q.ID != hr.Header.Get("Webhook-Id") {
			t.Errorf("%s: %v", body, err)
		}
		r.asked <- q
		handler(w, hr)
	}))
	t.Cleanup(server.Close)
	o := SystemOptions{
		URL: server.URL, Secret: secret, Timeout: 2 * time.Second, Default: standing.Allow, CarryOut: true,
		Verdicts: r.book, Known: r.book.newest, Told: func() {}, Alarm: func(m string) { r.alarms <- m },
		Clock: func() int64 { return time.Now().UnixMilli() }, Registerer: r.reg,
		Log: slog.New(slog.NewTextHandler(r.log, nil)),
	}
	if with != nil {
		with(&o)
	}
	if r.System, err = NewSystem(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// says answers with a text as JSON.
func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(w, text)
	}
}

// counted returns the metric's number of answers of a kind.
func (r *rig) counted(t *testing.T, m Moment, answer string) (n int) {
	t.Helper()
	families, err := r.reg.Gather()
	testenv.Must(t, err)
	for _, f := range families {
		for _, one := range f.GetMetric() {
			labels := []string{}
			for _, l := range one.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			if strings.Join(labels, " ") == answer+" "+string(m) {
				n = int(one.GetCounter().GetValue())
			}
		}
	}
	return n
}
