package alarms

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"redrain/internal/loop"
	"redrain/rain"
	"redrain/server/cluster"
)

// The times of a Poster.
const (
	postEvery  = 2 * time.Second  // it looks for new alarms this often, and renews the lease
	postWithin = 10 * time.Second // of one post
	askWithin  = 2 * time.Second  // of the request for the lease
	leaseLasts = 15 * time.Second // above a post and a round
	handover   = 30 * time.Second // another node with the lease has posted an alarm of this age
	retryFirst = 2 * time.Second  // the pause after a failed post, doubled after each
	retryMost  = time.Minute
	// again is the time after which a repeated event is posted again: its message may be about another object.
	again = 10 * time.Minute
	// mostEnded is the number of ended alarms that wait for a receiver that is away.
	mostEnded = 200
)

// Options are the settings of a Poster. All are required unless stated otherwise.
type Options struct {
	URL    string
	Format string        // Standard or another one of its kind
	Secret func() string // the newest; "": none
	Name   string        // of the installation: its address, or a word

	Open       *Open
	Leases     cluster.Leases
	Node       string // this node's name in the lease
	Alarm      func(code, campaign, message string)
	Clock      rain.Clock
	Recoverer  *loop.Recoverer // nil: panics are logged only
	Log        *slog.Logger
	Registerer prometheus.Registerer // nil: no metrics
	TLS        *tls.Config           // for tests; nil: the system's authorities
}

// Poster posts the raise and the end of each alarm, one post at a time. A failed post is repeated until it succeeds.
// Posts that wait are lost with the process.
type Poster struct {
	o       Options
	channel channel
	lease   *cluster.Lease
	posts   *prometheus.CounterVec

	entries       map[entryKey]*entry
	failed        int   // failed posts in sequence
	retryAt       int64 // Unix ms; no post before
	posting, term loop.FailureLog
}

// entryKey identifies an alarm from its raise to its end.
type entryKey struct {
	key

	since int64
}

// entry is an alarm, and the part of it that was posted.
type entry struct {
	alarm

	endedAt  int64 // Unix ms; 0: open
	posted   int   // the alarm's Times at its last post; 0: none
	postedAt int64 // Unix ms
	failures int
}

// step is the next post about an alarm.
type step string

const (
	stepNone  step = ""
	stepRaise step = "raised"
	stepEnd   step = "ended"
)

// NewPoster returns a poster. It posts nothing before Run.
func NewPoster(o Options) (*Poster, error) {
	c, err := newChannel(o)
	if err != nil {
		return nil, err
	}
	p := &Poster{o: o, channel: c, entries: map[entryKey]*entry{},
		lease: cluster.NewLease(cluster.LeaseOptions{Leases: o.Leases, Name: "alarms", Part: part, Node: o.Node,
			TTL: leaseLasts, Recoverer: o.Recoverer, Alarm: o.Alarm, Log: o.Log}),
		posts: promauto.With(o.Registerer).NewCounterVec(prometheus.CounterOpts{
			Name: "redrain_alarm_posts_total",
			Help: "Posts of alarms to --alarm-url: sent, failed (and repeated), dropped (the receiver was away for " +
				"too long).",
		}, []string{"result"}),
		posting: loop.FailureLog{Work: "post an alarm to --alarm-url", Log: o.Log},
		term:    loop.FailureLog{Work: "take the lease of the alarms; each node posts them meanwhile", Log: o.Log},
	}
	for _, result := range []string{resultSent, resultFailed, resultDropped} {
		p.posts.WithLabelValues(result) // zeros from the start, not gaps
	}
	return p, nil
}

// part names the loop in metrics, alarms and the log.
const part = "alarms"

// The results of a post, as they are counted.
const (
	resultSent    = "sent"
	resultFailed  = "failed"
	resultDropped = "dropped"
)

// Run posts until ctx ends. No failure ends it.
func (p *Poster) Run(ctx context.Context) error {
	defer p.channel.close()
	defer p.lease.Release(ctx)
	return loop.Run(ctx, loop.Spec{Part: part, Every: postEvery, Do: loop.Plain(p.round), Recoverer: p.o.Recoverer,
		Log: p.o.Log})
}

// round sends the posts that are due. It ends early so that the next round can renew the lease.
func (p *Poster) round(ctx context.Context) {
	p.refresh()
	if len(p.entries) == 0 {
		return
	}
	if !p.isMine(ctx) {
		p.passOver()
		return
	}
	for end := p.o.Clock() + postEvery.Milliseconds(); ctx.Err() == nil; {
		now := p.o.Clock()
		e, s := p.next(now)
		if s == stepNone || now < p.retryAt || now > end {
			return
		}
		p.post(ctx, e, s)
	}
}

// refresh updates the entries from the open alarms.
func (p *Poster) refresh() {
	now := p.o.Clock()
	isOpen := map[entryKey]bool{}
	for _, a := range p.o.Open.list() {
		k := entryKey{key{a.Code, a.Campaign}, a.Since}
		isOpen[k] = true
		if p.entries[k] == nil {
			p.entries[k] = &entry{}
		}
		p.entries[k].alarm = a
	}
	var ended []*entry
	for k, e := range p.entries {
		if isOpen[k] {
			continue
		}
		e.endedAt = cmp.Or(e.endedAt, now)
		if p.step(e, now) == stepNone {
			delete(p.entries, k)
			continue
		}
		ended = append(ended, e)
	}
	slices.SortFunc(ended, func(a, b *entry) int { return cmp.Compare(b.endedAt, a.endedAt) })
	for _, e := range ended[min(len(ended), mostEnded):] {
		p.posts.WithLabelValues(resultDropped).Inc()
		p.o.Log.Warn("drop an alarm that --alarm-url did not take", "code", e.Code, "campaign", e.Campaign,
			"message", e.Message)
		p.remove(e)
	}
}

func (p *Poster) remove(e *entry) { delete(p.entries, entryKey{key{e.Code, e.Campaign}, e.Since}) }

// isMine reports whether this node posts. Without an answer it does: a second post is better than none.
func (p *Poster) isMine(ctx context.Context) bool {
	within, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	held, err := p.lease.Take(within)
	p.term.Record(ctx, err)
	return held || err != nil
}

// passOver marks posts as done that the node with the lease had time for. If that node dies, this one posts the rest.
func (p *Poster) passOver() {
	now := p.o.Clock()
	for _, e := range p.entries {
		s := p.step(e, now)
		due := cmp.Or(e.endedAt, e.At)
		if e.posted == 0 {
			due = e.Since
		}
		if s != stepNone && now-due >= handover.Milliseconds() {
			p.done(e, s)
		}
	}
}

// step returns the next post about an alarm. The end of an event is no news.
func (p *Poster) step(e *entry, now int64) step {
	age := time.Duration(now-e.postedAt) * time.Millisecond
	switch {
	case e.posted == 0:
		return stepRaise
	case e.endedAt > 0 && (e.isCondition || p.channel.resend > 0):
		return stepEnd
	case e.endedAt > 0:
		return stepNone
	case e.Times > e.posted && age >= again, p.channel.resend > 0 && age >= p.channel.resend:
		return stepRaise
	}
	return stepNone
}

// next returns the next post: those that never failed first, the oldest first.
func (p *Poster) next(now int64) (*entry, step) {
	var due []*entry
	for e := range maps.Values(p.entries) {
		if p.step(e, now) != stepNone {
			due = append(due, e)
		}
	}
	if len(due) == 0 {
		return nil, stepNone
	}
	first := slices.MinFunc(due, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.failures, b.failures), cmp.Compare(a.Since, b.Since), cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.Campaign, b.Campaign))
	})
	return first, p.step(first, now)
}

// post posts once.
func (p *Poster) post(ctx context.Context, e *entry, s step) {
	within, cancel := context.WithTimeout(ctx, postWithin)
	defer cancel()
	err := p.channel.post(within, message{OpenAlarm: e.OpenAlarm, step: s, at: p.o.Clock(), endedAt: e.endedAt})
	if err != nil && ctx.Err() != nil {
		return // the process ends
	}
	p.posting.Record(ctx, err)
	if err != nil {
		p.posts.WithLabelValues(resultFailed).Inc()
		p.retryAt = p.o.Clock() + loop.Backoff(retryFirst, retryMost, p.failed).Milliseconds()
		p.failed++
		e.failures++
		return
	}
	p.failed, p.retryAt = 0, 0
	p.posts.WithLabelValues(resultSent).Inc()
	p.done(e, s)
}

// done notes a post.
func (p *Poster) done(e *entry, s step) {
	e.posted, e.postedAt = e.Times, p.o.Clock()
	if s == stepEnd {
		p.remove(e)
	}
}
