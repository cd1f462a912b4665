package rollback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"redrain/internal/loop"
	"redrain/payout/ledger"
	"redrain/payout/ledger/chain"
	"redrain/rain"
)

// every is the interval of updates of the mark. The loss of newer commits is not detected.
const every = 10 * time.Second

// within bounds one look.
const within = 5 * time.Second

// key is the mark's key in its bucket.
const key = "ledger"

// Rows reads the newest rows of the ledger. [chain.Roots] implements it.
type Rows interface {
	Heads(ctx context.Context) ([]chain.Head, error)
	Holds(ctx context.Context, h chain.Head) (bool, error) // whether a row that was once the newest still exists
}

// Restores stores the restores of the ledger. [ledger.Restores] implements it.
type Restores interface {
	Newest(ctx context.Context) (ledger.Restore, error)
	Notice(ctx context.Context, reason string) error
}

// Options are the settings of a detector. All are required unless they say otherwise.
type Options struct {
	JetStream jetstream.JetStream
	Namespace string // of the bucket's name
	Rows      Rows
	Restores  Restores
	Clock     rain.Clock
	Alarm     func(code, campaign, message string)
	Recoverer *loop.Recoverer // nil: panics are logged only
	Log       *slog.Logger

	Registerer prometheus.Registerer // nil: no metrics
}

// Detector detects a ledger that has gone back in time. Every node may run one.
type Detector struct {
	o       Options
	bucket  string
	held    prometheus.Gauge
	pending string // the alarm that must still be raised
}

// New makes a detector. It does nothing before Run.
func New(o Options) *Detector {
	return &Detector{
		o: o, bucket: o.Namespace + "_ledger",
		held: promauto.With(o.Registerer).NewGauge(prometheus.GaugeOpts{
			Name: "redrain_withdrawals_held",
			Help: "1 while the ledger counts as restored from a backup: no withdrawal is taken or sent.",
		}),
	}
}

// Run looks periodically until ctx ends. It raises the alarm, including that of an earlier look.
func (d *Detector) Run(ctx context.Context) error {
	err := loop.Run(ctx, loop.Spec{Part: "rollback", Work: "compare the ledger with its mark",
		Every: every, Do: d.round, Recoverer: d.o.Recoverer, Log: d.o.Log})
	// A process that stops in good order leaves an exact mark.
	last := d.o.Recoverer.Try("rollback", func() error { return d.round(context.WithoutCancel(ctx)) })
	if last != nil {
		d.o.Log.Warn("write the ledger's mark at the end", "err", last)
	}
	return err
}

func (d *Detector) round(ctx context.Context) error {
	err := d.Look(ctx)
	if d.pending != "" {
		d.o.Alarm("ledger_went_back", "", d.pending)
		d.pending = ""
	}
	return err
}

// mark is the newest state of the ledger.
type mark struct {
	At    int64        `json:"at"` // Unix ms
	Heads []chain.Head `json:"heads"`
}

// Look compares the ledger with the mark. If the ledger is behind it, Look records a restore. Then it writes a new
// mark.
//
// The mark is read first, so a ledger that goes on meanwhile is ahead of it. A mark that another node has written
// since is kept, because it is newer. Only one Look may run at a time.
func (d *Detector) Look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	kv, err := d.open(ctx)
	if err != nil {
		return err
	}
	kept, err := kv.Get(ctx, key)
	if err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
		return fmt.Errorf("read the ledger's mark: %w", err)
	}
	heads, err := d.o.Rows.Heads(ctx)
	if err != nil {
		return err
	}
	restore, err := d.o.Restores.Newest(ctx)
	if err != nil {
		return err
	}
	var revision uint64
	if kept != nil {
		revision = kept.Revision()
		missing, at, err := d.compare(ctx, kept)
		if err != nil {
			return err
		}
		if missing != "" && !restore.Open && restore.At <= at {
			if err := d.notice(ctx, missing, at); err != nil {
				return err
			}
			restore.Open = true
		}
	}
	d.held.Set(0)
	if restore.Open {
		d.held.Set(1)
	}
	now, err := json.Marshal(mark{d.o.Clock(), heads})
	if err != nil {
		return err
	}
	_, err = kv.Update(ctx, key, now, revision)
	if err != nil && !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return fmt.Errorf("write the ledger's mark: %w", err)
	}
	return nil
}

// open creates a missing bucket. It keeps the number of replicas, which the operators choose.
func (d *Detector) open(ctx context.Context) (jetstream.KeyValue, error) {
	kv, err := d.o.JetStream.KeyValue(ctx, d.bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = d.o.JetStream.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: d.bucket, Description: "the newest rows of the ledger", Storage: jetstream.FileStorage,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", d.bucket, err)
	}
	return kv, nil
}

// compare returns the rows of the mark that the ledger lacks, in words, and the time of the mark, Unix ms; or "".
func (d *Detector) compare(ctx context.Context, kept jetstream.KeyValueEntry) (missing string, at int64, err error) {
	var was mark
	if err := json.Unmarshal(kept.Value(), &was); err != nil {
		// Another version or an outsider has written it: withdrawals wait for an operator.
		return "its mark cannot be read", kept.Created().UnixMilli(), nil //nolint:nilerr // it is reported
	}
	for _, h := range was.Heads {
		holds, err := d.o.Rows.Holds(ctx, h)
		if err != nil {
			return "", 0, err
		}
		if !holds {
			return fmt.Sprintf("row %d of the table %s is gone, or another one", h.ID, h.Book), was.At, nil
		}
	}
	return "", was.At, nil
}

// notice records a restore of the ledger.
func (d *Detector) notice(ctx context.Context, missing string, at int64) error {
	had := time.UnixMilli(at).UTC().Format(time.RFC3339)
	if err := d.o.Restores.Notice(ctx, missing+" at "+had); err != nil {
		return err
	}
	d.o.Log.Error("the ledger has gone back in time; withdrawals wait until `redrain restored --end`", "missing",
		missing, "at", had)
	d.pending = fmt.Sprintf("the ledger's database has lost a part of what it had at %s (%s): it was restored from a "+
		"backup, or has lost its newest commits. No withdrawal is taken or sent, because it may have been paid "+
		"before. Start every node again, so that the stream is read once more, and go on at step 5 of "+
		"docs/use/backups.md", had, missing)
	return nil
}
