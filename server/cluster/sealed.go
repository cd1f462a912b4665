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

// A writer to NATS without the keys must not be able to send messages to players. So each notice has a seal over its
// subject, its time and its content. A notice cannot be used for another campaign or topic, nor replayed later.

// Sealer seals notices, and checks their seals; seal.Ring is one.
type Sealer interface {
	AppendNotice(b, notice []byte) []byte
	CheckNotice(seal, notice []byte) bool
}

const (
	// noticeWithin is the greatest age of a notice. It is far more than the nodes' clocks differ and than NATS takes.
	noticeWithin = time.Minute
	// doubtfulAtOnce is the number of notices with an unknown seal that may wait for newer keys.
	doubtfulAtOnce = 256
	// doubtEvery is the least time between two checks of such notices: each check reads the database.
	doubtEvery = time.Second
)

// doubtful is a notice without a valid seal of a cached key.
type doubtful struct {
	m      *nats.Msg
	handle func(notice []byte)
}

var (
	errNoticeSeal = errors.New("invalid seal: no node of this installation sent this notice")
	errNoticeOld  = errors.New("it is older than a minute, or from another time: it was sent again, or clocks differ")
)

// refusals counts rejected notices by the reason.
type refusals struct{ seal, old, unchecked, unreadable prometheus.Counter }

func newRefusals(reg prometheus.Registerer) refusals {
	refused := promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
		Name: "redrain_notices_refused_total", Help: "Notices between nodes that were rejected: seal, no node of " +
			"this installation has sent it; old, older than a minute; unchecked, its key could not be read; " +
			"unreadable, of another version.",
	}, []string{"reason"})
	return refusals{refused.WithLabelValues("seal"), refused.WithLabelValues("old"),
		refused.WithLabelValues("unchecked"), refused.WithLabelValues("unreadable")}
}

// sealed returns a notice as it is sent: lines with the seal, the time and the content.
func (b *Bus) sealed(subject string, notice []byte) []byte {
	text := make([]byte, 0, len(subject)+len(notice)+16)
	text = append(append(text, subject...), '\n')
	text = append(strconv.AppendInt(text, b.o.Clock(), 10), '\n')
	text = append(text, notice...)
	message := b.o.Sealer.AppendNotice(make([]byte, 0, len(text)+48), text)
	return append(message, text[len(subject):]...)
}

// open is the inverse of sealed. It returns the content if the seal is valid and the notice is new.
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

// receive handles a message with a valid seal. A message with an invalid one may have a newer key than this node has:
// it waits for Run, which reads the keys.
func (b *Bus) receive(m *nats.Msg, handle func(notice []byte)) {
	notice, err := b.open(m)
	if err == nil {
		handle(notice)
		return
	}
	select {
	case b.doubtful <- doubtful{m, handle}:
	default:
		b.refused.seal.Inc() // the alarm reports a flood
	}
}

// Run checks the doubtful notices until ctx ends.
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

// lookAgain reads the keys once for all waiting notices, and then accepts or rejects each.
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
		b.o.Log.Debug("read newer keys for the seals of notices between nodes", "err", unread)
	}
	if old > 0 {
		b.o.Log.Warn("notices between nodes are not believed", "count", old, "last", last, "err", errNoticeOld)
	}
	if forged > 0 {
		b.o.Log.Warn("notices between nodes are not believed", "count", forged, "last", last, "err", errNoticeSeal)
		b.o.Forged(forged, fmt.Sprintf("a notice to %.100q: %s", last, errNoticeSeal))
	}
}

// BusOptions are the options of a Bus. All are required unless stated otherwise.
type BusOptions struct {
	Namespace string
	Sealer    Sealer
	// RefreshSeals reads the current keys when a notice has an unknown seal. Nil: the keys never change.
	RefreshSeals func(ctx context.Context) error
	// Forged is called with notices that no node of this installation has sent. Nil: they are logged only.
	Forged     func(count int, reason string)
	Clock      rain.Clock // the cluster's time
	Registerer prometheus.Registerer
	Log        *slog.Logger
}
