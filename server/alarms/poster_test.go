package alarms

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/server/cluster"
)

// leases give the lease to the test's node, to another one, or fail.
type leases struct {
	isOther bool
	err     error
	asked   int
}

func (l *leases) Lease(context.Context, string, string, time.Duration) (ledger.Tenure, error) {
	l.asked++
	if l.isOther {
		return ledger.Tenure{}, l.err
	}
	return ledger.Tenure{Term: 1}, l.err
}

func (*leases) UnderTerm(ctx context.Context, _ string, _ int64) context.Context { return ctx }
func (*leases) ReleaseLease(context.Context, string, string) error               { return nil }

// rig is a poster with a clock, and a receiver of the test's own.
type rig struct {
	*Poster
	leases

	open   *Open
	now    int64
	posted []string               // since the last want
	refuse func(code string) bool // the receiver's failures
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{now: 1_000_000, refuse: func(string) bool { return false }}
	clock := func() int64 { return r.now }
	r.open = NewOpen(clock, nil)
	p, err := NewPoster(Options{URL: "https://am.example", Format: Alertmanager, Secret: func() string { return "" },
		Open: r.open, Leases: &r.leases, Clock: clock, Log: slog.New(slog.DiscardHandler)})
	testenv.Must(t, err)
	p.channel.resend = 0
	p.channel.post = func(_ context.Context, m message) error {
		if r.refuse(m.Code) {
			return errors.New("refused")
		}
		r.posted = append(r.posted, fmt.Sprintf("%s %s %d", m.Code, m.step, m.Times))
		return nil
	}
	r.Poster = p
	return r
}

func (r *rig) event(code string) { r.open.Raise(cluster.Alarm{Code: code}) }

// during repeats a condition for a time.
func (r *rig) during(t *testing.T, code string, d time.Duration) {
	t.Helper()
	for end := r.now + d.Milliseconds(); r.now < end; r.now += postEvery.Milliseconds() {
		r.open.Raise(cluster.Alarm{Code: code, LastsMS: 10_000})
		r.round(t.Context())
	}
}

// pass runs rounds for a time.
func (r *rig) pass(t *testing.T, d time.Duration) {
	t.Helper()
	for end := r.now + d.Milliseconds(); r.now < end; r.now += postEvery.Milliseconds() {
		r.round(t.Context())
	}
}

func (r *rig) want(t *testing.T, posts ...string) {
	t.Helper()
	testenv.Equal(t, r.posted, posts, "posts")
	r.posted = nil
}

func (r *rig) count(result string) float64 {
	return testutil.ToFloat64(r.posts.WithLabelValues(result))
}

// TestRaiseAndEnd: a condition is posted at its start and its end, and again when it returns. An event is posted once,
// and after ten minutes if it was repeated.
func TestRaiseAndEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.pass(t, time.Minute)
	testenv.Equal(t, r.asked, 0, "requests for the lease without an alarm")
	r.during(t, "unpaid", time.Minute)
	r.want(t, "unpaid raised 1")
	r.pass(t, 20*time.Second)
	r.want(t, "unpaid ended 1")
	r.during(t, "unpaid", 10*time.Second)
	r.want(t, "unpaid raised 1")
	r.pass(t, time.Minute)
	r.posted = nil
	for range 3 {
		r.event("withdrawal")
		r.pass(t, 10*time.Second)
	}
	r.want(t, "withdrawal raised 1")
	r.pass(t, again)
	r.want(t, "withdrawal raised 3")
	r.pass(t, kept)
	r.want(t)
	testenv.Equal(t, len(r.entries), 0, "entries after a day")
}

// TestTheReceiverIsAway: each post is repeated with growing pauses, and nothing is lost or out of order. A message that
// the receiver never takes does not hold up others.
func TestTheReceiverIsAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.refuse = func(string) bool { return true }
	r.during(t, "unpaid", time.Minute)
	r.event("forged")
	r.pass(t, 9*time.Minute)
	r.want(t)
	if tries := r.count(resultFailed); tries < 10 || tries > 40 {
		t.Errorf("%g tries in ten minutes", tries)
	}
	r.refuse = func(code string) bool { return code == "poison" }
	r.pass(t, 2*retryMost)
	if slices.Index(r.posted, "unpaid raised 1") > slices.Index(r.posted, "unpaid ended 1") {
		t.Errorf("an end before its raise: %q", r.posted)
	}
	slices.Sort(r.posted)
	r.want(t, "forged raised 1", "unpaid ended 1", "unpaid raised 1")
	r.event("poison")
	r.pass(t, time.Minute)
	r.event("panic")
	r.pass(t, 2*retryMost)
	r.want(t, "panic raised 1")
	testenv.Equal(t, r.count(resultSent), 4, "sent")
	r.refuse = func(string) bool { return true }
	for range mostEnded + 5 {
		r.during(t, "backend_down", 2*time.Second)
		r.pass(t, 12*time.Second)
	}
	testenv.Equal(t, r.count(resultDropped), 5, "dropped")
}

// TestOneNodePosts: the node without the lease posts nothing. When it takes over, it posts only what the other node
// had no time for. Without an answer of the ledger it posts.
func TestOneNodePosts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.isOther = true
	r.event("old")
	r.during(t, "unpaid", handover+10*time.Second)
	r.event("new")
	r.pass(t, 10*time.Second)
	r.want(t)
	r.isOther = false
	r.pass(t, time.Minute)
	slices.Sort(r.posted)
	r.want(t, "new raised 1", "unpaid ended 1")
	r.isOther = true
	r.event("later")
	r.during(t, "backend_down", 10*time.Second)
	r.want(t)
	r.err = errors.New("the ledger is away")
	r.during(t, "backend_down", 10*time.Second)
	slices.Sort(r.posted)
	r.want(t, "backend_down raised 1", "later raised 1")
}

// TestAlertmanagerIsReminded: an open alarm is posted each minute, because Alertmanager ends it otherwise.
func TestAlertmanagerIsReminded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.channel.resend = resend
	r.event("forged")
	r.pass(t, 2*resend+10*time.Second)
	r.want(t, "forged raised 1", "forged raised 1", "forged raised 1")
	r.isOther = true // posts by now
	r.pass(t, 2*resend)
	r.isOther = false
	r.pass(t, resend)
	r.want(t, "forged raised 1")
	r.now += kept.Milliseconds()
	r.pass(t, 10*time.Second)
	r.want(t, "forged ended 1")
}
