package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"redrain/internal/loop"
	"redrain/rain"
	"redrain/server/timeout"
)

// Whoever can write to NATS must not be able to make nodes tell players something. So every notice is sealed, as one,
// over its subject, the time and what it says: a notice about one campaign is none about another, "restocked" is not
// "sold out", and an old one is not told again.

// Sealer seals notices, and checks their seals; seal.Ring is one.
type Sealer interface {
	AppendNotice(b, notice []byte) []byte
	CheckNotice(seal, notice []byte) bool
}

const (
	// noticeWithin is how old a notice may be. It is far more than nodes' clocks differ and than NATS takes.
	noticeWithin = time.Minute
	// doubtfulAtOnce is how many notices whose seal is not known may wait for newer keys.
	doubtfulAtOnce = 256
	// doubtEvery is the least time between two looks at such notices: each look asks the database.
	doubtEvery = time.Second
)

// doubtful is a notice that is not what a node of this installation has just sent, as far as is known.
type doubtful struct {
	m      *nats.Msg
	handle func(notice []byte)
}

var (
	errNoticeSeal = errors.New("invalid seal: no node of this installation sent this notice")
	errNoticeOld  = errors.New("it is older than a minute, or from another time: it was sent again, or clocks differ")
)

// refusals counts what is not believed, by the reason.
type refusals struct{ seal, old, unchecked, unreadable prometheus.Counter }

func newRefusals(reg prometheus.Registerer) refusals {
	refused := promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
		Name: "redrain_notices_refused_total", Help: "Notices between nodes that were not believed: seal, no node of " +
			"this installation has sent it; old, older than a minute; unchecked, its key could not be read; " +
			"unreadable, of another version.",
	}, []string{"reason"})
	return refusals{refused.WithLabelValues("seal"), refused.WithLabelValues("old"),
		refused.WithLabelValues("unchecked"), refused.WithLabelValues("unreadable")}
}

// sealed is a notice as it travels: the seal, the time and what it says, a line each.
func (b *Bus) sealed(subject string, notice []byte) []byte {
	text := make([]byte, 0, len(subject)+len(notice)+16)
	text = append(append(text, subject...), '\n')
	text = append(strconv.AppendInt(text, b.o.Clock(), 10), '\n')
	text = append(text, notice...)
	message := b.o.Sealer.AppendNotice(make([]byte, 0, len(text)+48), text)
	return append(message, text[len(subject):]...)
}

// open is the reverse of sealed: what a notice says, if a node of this installation has just sent it.
func (b *Bus) open(m *nats.Msg) (notice []byte, err error) {
	seal, rest, found := bytes.Cut(m.Data, []byte("\n"))
	if !found || !b.o.Sealer.CheckNotice(seal, append(append([]byte(m.Subject), '\n'), rest...)) {
		return nil, errNoticeSeal
	}
	at, notice, _ := bytes.Cut(rest, []byte("\n"))
	sent, err := strconv.ParseInt(string(at), 10, 64)
	if off := b.o.Clock() - sent; err != nil || max(off, -off) > noticeWithin.Milliseconds() {
		return nil, errNoticeOld
	}
	return notice, nil
}

// receive has what a message says handled, if it is believed. One whose seal is wrong may be sealed with a key that is
// newer than what is known here: it waits for Run, which reads the keys.
func (b *Bus) receive(m *nats.Msg, handle func(notice []byte)) {
	notice, err := b.open(m)
	if err == nil {
		handle(notice)
		return
	}
	select {
	case b.doubtful <- doubtful{m, handle}:
	default:
		b.refused.seal.Inc() // a flood, which the alarm tells of
	}
}

// Run looks at the notices that are not believed until ctx ends.
func (b *Bus) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case d := <-b.doubtful:
			b.lookAgain(ctx, d)
			loop.Sleep(ctx, doubtEvery)
		}
	}
}

// lookAgain reads the keys anew, once for all notices that wait, and then believes or refuses each.
func (b *Bus) lookAgain(ctx context.Context, first doubtful) {
	ctx, cancel := context.WithTimeout(ctx, timeout.Backend)
	defer cancel()
	unread := b.o.RefreshSeals(ctx)
	var forged, old int
	var last string
	for n, d := len(b.doubtful), first; ; n-- {
		notice, err := b.open(d.m)
		switch {
		case err == nil:
			d.handle(notice)
		case errors.Is(err, errNoticeOld):
			b.refused.old.Inc()
			old, last = old+1, d.m.Subject
		case unread != nil:
			b.refused.unchecked.Inc()
		default:
			b.refused.seal.Inc()
			forged, last = forged+1, d.m.Subject
		}
		if n == 0 {
			break
		}
		d = <-b.doubtful
	}
	if unread != nil {
		b.o.Log.Debug("notices of other nodes may be sealed with a newer key, which cannot be read", "err", unread)
	}
	if old > 0 {
		b.o.Log.Warn("notices between nodes are not believed", "count", old, "last", last, "err", errNoticeOld)
	}
	if forged > 0 {
		b.o.Log.Warn("notices between nodes are not believed", "count", forged, "last", last, "err", errNoticeSeal)
		b.o.Forged(forged, fmt.Sprintf("a notice to %.100q: %s", last, errNoticeSeal))
	}
}

// BusOptions of a bus. All are needed but those that say so.
type BusOptions struct {
	Namespace string
	Sealer    Sealer
	// RefreshSeals reads the keys that are valid now, because the seal of a notice is not known. Nil: there are no
	// others.
	RefreshSeals func(ctx context.Context) error
	// Forged hears of notices that no node of this installation has sent. Nil: the log tells of them only.
	Forged     func(count int, reason string)
	Nodes      Nodes      // nil: settlements are told group by group, however few nodes there are
	Clock      rain.Clock // the cluster's time
	Registerer prometheus.Registerer
	Log        *slog.Logger
}
