package grab

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

// The errors of this package.
var (
	// ErrNoState says that Redis knows nothing of a campaign's shard: it was never stocked, or Redis has lost it
	// and it has not been restored to its end.
	ErrNoState = errors.New("redis knows nothing of the campaign's shard")
	// ErrAlive says that there is nothing to restore: Redis knows the shard.
	ErrAlive = errors.New("redis knows the campaign's shard, nothing has to be restored")
	// ErrSuperseded says that another restoration of the shard has begun since.
	ErrSuperseded = errors.New("another restoration of the shard has begun")
	// ErrUnsettled says that Redis has lost a shard's state and not its outbox, with entries that the ledger may
	// not have yet.
	ErrUnsettled = errors.New("the outbox of the shard is still there and has to be settled first")
	// ErrClosed says that a campaign is closed and takes no stock any more.
	ErrClosed = errors.New("the campaign's shard is closed")
)

// Options set a Grabber up. The zero value works.
type Options struct {
	// Namespace begins every key; "" is "rr". Several installations on one Redis each have their own.
	Namespace string
	// TapRate is how many taps per second a player may make on one node, and in one burst; 0 is no limit.
	TapRate int
	// Clock is the cluster's time (see Clock); nil is the machine's own, which is right only where Redis runs on
	// the same machine.
	Clock rain.Clock
	// Log receives what an operator should know; nil drops it.
	Log *slog.Logger
	// Registerer takes the metrics; nil keeps them unregistered.
	Registerer prometheus.Registerer
	// Confirm is what must have a win before its player is told.
	Confirm Confirm
	// Publish has JetStream keep an outbox entry, and returns when it has said that it does. ConfirmStream needs
	// it, and nothing else uses it. An entry may be published any number of times.
	Publish func(ctx context.Context, e rain.Entry) error
	// OnWin is called when a batch has left wins in a shard's outbox, so that the relay need not wait for its next
	// round. It must not block. May be nil.
	OnWin func(campaign string, shard int)
	// OnSoldOut is called when this node finds a shard sold out: once, until the next rain begins. It must not
	// block. May be nil.
	OnSoldOut func(campaign string, shard int)
}

// Grabber is the way to Redis. Its methods may be called from any goroutine.
type Grabber struct {
	rdb     redis.UniversalClient
	keys    keys
	o       Options
	scripts scripts
	metrics *metrics
	work    workers

	confirmer confirmer // nil where a win that Redis has may be told
	followed  sync.Map  // addresses of masters that have replicas, as onMaster gives them; used with ConfirmStream

	mu    sync.RWMutex
	gates map[string]*Gate
}

// New makes a Grabber on a client, which stays the caller's to close. Call Load before taps come.
func New(rdb redis.UniversalClient, o Options) *Grabber {
	if o.Namespace == "" {
		o.Namespace = defaultNamespace
	}
	if o.Clock == nil {
		o.Clock = func() int64 { return time.Now().UnixMilli() }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.OnWin == nil {
		o.OnWin = func(string, int) {}
	}
	if o.OnSoldOut == nil {
		o.OnSoldOut = func(string, int) {}
	}
	g := &Grabber{
		rdb: rdb, keys: keys{o.Namespace}, o: o, scripts: newScripts(), metrics: newMetrics(o.Registerer),
		gates: map[string]*Gate{},
	}
	g.confirmer = g.newConfirmer()
	return g
}

// Ping tells whether Redis answers.
func (g *Grabber) Ping(ctx context.Context) error {
	if err := g.seen(g.rdb.Ping(ctx).Err()); err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	return nil
}

// Close waits until the batches in flight and what waits behind them have their answers. Taps that come later are
// unavailable. Everything else goes on working.
func (g *Grabber) Close() { g.work.close() }

// seen passes an error on, and has the cluster's map read again where a node did not answer: its replica may have
// taken over, and go-redis does not find out by itself.
func (g *Grabber) seen(err error) error {
	if err == nil || errors.Is(err, redis.Nil) {
		return err
	}
	var refused redis.Error // Redis itself has answered
	if cluster, ok := g.rdb.(*redis.ClusterClient); ok && !errors.As(err, &refused) {
		cluster.ReloadState(context.Background())
	}
	return err
}
