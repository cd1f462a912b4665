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

// every is how often it is kept how far the ledger has come. What was committed since is not noticed where it is lost.
const every = 10 * time.Second

// within is how long a look may take.
const within = 5 * time.Second

// key is where the mark is kept in its bucket.
const key = "ledger"

// Rows knows the newest rows of the ledger. [chain.Roots] does.
type Rows interface {
	Heads(ctx context.Context) ([]chain.Head, error)
	Holds(ctx context.Context, h chain.Head) (bool, error) // whether a row that was the newest once is still there
}

// Restores keeps when the ledger was put back. [ledger.Restores] does.
type Restores interface {
	Newest(ctx context.Context) (ledger.Restore, error)
	Notice(ctx context.Context, reason string) error
}

// Options of a detector. All are needed but those that say so.
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

// Detector notices a ledger that has gone back in time. Every node may have one.
type Detector struct {
	o      Options
	bucket string
	held   prometheus.Gauge
	untold string // the alarm that is to be given
}

// New makes a detector. Its Run must be started.
func New(o Options) *Detector {
	return &Detector{
		o: o, bucket: o.Namespace + "_ledger",
		held: promauto.With(o.Registerer).NewGauge(prometheus.GaugeOpts{
			Name: "redrain_withdrawals_held",
			Help: "1 while the ledger counts as put back from a backup: no withdrawal is taken or sent.",
		}),
	}
}

// Run looks again and again until ctx ends, and gives the alarm, also of what a look before has found.
func (d *Detector) Run(ctx context.Context) error {
	err := loop.Run(ctx, loop.Spec{Part: "rollback", Work: "looking whether the ledger has gone back in time",
		Every: every, Do: d.round, Recoverer: d.o.Recoverer, Log: d.o.Log})
	// The mark of a process that stops in good order is nearly exact.
	last := d.o.Recoverer.Try("rollback", func() error { return d.round(context.WithoutCancel(ctx)) })
	if last != nil {
		d.o.Log.Warn("how far the ledger has come is not noted at the end", "err", last)
	}
	return err
}

func (d *Detector) round(ctx context.Context) error {
	err := d.Look(ctx)
	if d.untold != "" {
		d.o.Alarm("ledger_went_back", "", d.untold)
		d.untold = ""
	}
	return err
}

// mark is how far the ledger had come.
type mark struct {
	At    int64        `json:"at"` // Unix ms
	Heads []chain.Head `json:"heads"`
}

// Look holds the ledger against how far it had come, notes a restore where it has not come that far, and keeps how far
// it is now.
//
// The mark is read first, so a ledger that goes on meanwhile is ahead of it. A mark that another node has written since
// stays: this look knows less. One look at a time.
func (d *Detector) Look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	kv, err := d.open(ctx)
	if err != nil {
		return err
	}
	kept, err := kv.Get(ctx, key)
	if err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
		return fmt.Errorf("reading how far the ledger had come: %w", err)
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
		return fmt.Errorf("keeping how far the ledger has come: %w", err)
	}
	return nil
}

// open makes the bucket where it is not there. How many replicas it has is the operators' choice.
func (d *Detector) open(ctx context.Context) (jetstream.KeyValue, error) {
	kv, err := d.o.JetStream.KeyValue(ctx, d.bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = d.o.JetStream.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: d.bucket, Description: "how far the ledger has come", Storage: jetstream.FileStorage,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("the bucket %s: %w", d.bucket, err)
	}
	return kv, nil
}

// compare says what the ledger lacks of what it had, and when it had that, Unix ms; "" where nothing.
func (d *Detector) compare(ctx context.Context, kept jetstream.KeyValueEntry) (missing string, at int64, err error) {
	var was mark
	if err := json.Unmarshal(kept.Value(), &was); err != nil {
		// It may say the truth to another version, or somebody has written it: withdrawals wait until a person knows.
		return "how far it had come cannot be read", kept.Created().UnixMilli(), nil //nolint:nilerr // it is reported
	}
	for _, h := range was.Heads {
		holds, err := d.o.Rows.Holds(ctx, h)
		if errors.Is(err, chain.ErrUnknownBook) {
			return "how far it had come cannot be read", was.At, nil
		}
		if err != nil {
			return "", 0, err
		}
		if !holds {
			return fmt.Sprintf("row %d of the table %s is gone, or another one", h.ID, h.Book), was.At, nil
		}
	}
	return "", was.At, nil
}

// notice has the ledger count as put back from a backup.
func (d *Detector) notice(ctx context.Context, missing string, at int64) error {
	had := time.UnixMilli(at).UTC().Format(time.RFC3339)
	if err := d.o.Restores.Notice(ctx, missing+" at "+had); err != nil {
		return err
	}
	d.o.Log.Error("the ledger has gone back in time; withdrawals wait until `redrain restored --end`", "missing",
		missing, "at", had)
	d.untold = fmt.Sprintf("the ledger's database has lost a part of what it had at %s (%s): it was put back from a "+
		"backup, or has lost its newest commits. No withdrawal is taken or sent, because it may have been paid "+
		"before. Start every node again, so that the stream is read once more, and go on at step 5 of "+
		"docs/use/backups.md", had, missing)
	return nil
}
