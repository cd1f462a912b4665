package store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"redrain/internal/rawio"
)

const (
	dialTimeout = 2 * time.Second
	ioTimeout   = 2 * time.Second
	// With go-redis's defaults a client missed a failover for 58 s in a test. It reloads the cluster's map once a
	// minute, and a refused connection does not make it reload. See also client.checked.
	clusterReload = time.Second
	// A migrating slot arrives within milliseconds; go-redis would wait for up to half a second.
	retryFrom, retryUpTo = 2 * time.Millisecond, 20 * time.Millisecond
	// One try per dial: the command's own retries already wait and, in a cluster, read the map again.
	dialTries = 1
)

// Connect returns a client for Redis, without waiting for a connection. The argument addrs is one "host:port",
// several of them, separated by commas, for a Cluster, or a URL. A URL is redis:// or rediss:// (TLS). For a Cluster
// it has further nodes as in rediss://user:password@host:port?addr=host2:port2. The error names the faulty part, and
// no password.
func Connect(addrs string) (redis.UniversalClient, error) {
	if strings.Contains(addrs, "://") {
		return connectURL(addrs)
	}
	var list []string
	for addr := range strings.SplitSeq(addrs, ",") {
		addr = strings.TrimSpace(addr)
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return nil, fmt.Errorf("redis address %q: want host:port", addr)
		}
		list = append(list, addr)
	}
	if len(list) > 1 {
		return newClusterClient(&redis.ClusterOptions{Addrs: list}), nil
	}
	return newClient(&redis.Options{Addr: list[0]}), nil
}

func connectURL(raw string) (redis.UniversalClient, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errURL
	}
	if u.Query().Has("addr") {
		o, err := redis.ParseClusterURL(raw)
		if err != nil {
			return nil, errURL
		}
		return newClusterClient(o), nil
	}
	o, err := redis.ParseURL(raw)
	if err != nil {
		return nil, errURL
	}
	return newClient(o), nil
}

// errURL hides the cause: the parser's error would show the URL with its password.
var errURL = errors.New("redis URL: want redis://[user:password@]host:port[/database] or rediss://…, for a Cluster " +
	"with ?addr=host:port&addr=…")

func newClient(o *redis.Options) *redis.Client {
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.DialerRetries = dialTimeout, ioTimeout, ioTimeout, dialTries
	o.ContextTimeoutEnabled = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.Dialer = dialer(o.TLSConfig)
	return redis.NewClient(o)
}

func newClusterClient(o *redis.ClusterOptions) *redis.ClusterClient {
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.DialerRetries = dialTimeout, ioTimeout, ioTimeout, dialTries
	o.ContextTimeoutEnabled = true
	o.ClusterStateReloadInterval = clusterReload
	o.MinRetryBackoff, o.MaxRetryBackoff = retryFrom, retryUpTo
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.Dialer = dialer(o.TLSConfig)
	return redis.NewClusterClient(o)
}

// dialer connects as go-redis does by itself. It sends a batch of taps without waking the runtime's monitor.
func dialer(secure *tls.Config) func(ctx context.Context, network, addr string) (net.Conn, error) {
	dial := redis.NewDialer(&redis.Options{DialTimeout: dialTimeout, TLSConfig: secure})
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return rawio.Wrap(conn), nil
	}
}

// LogClient makes the Redis client library write its messages, such as failed dials, to log, at debug level. It
// applies to the process; without it the library writes to standard error. Important failures are returned as errors
// anyway.
func LogClient(log *slog.Logger) { redis.SetLogger(clientLog{log}) }

type clientLog struct{ log *slog.Logger }

// Printf is the library's interface.
func (l clientLog) Printf(ctx context.Context, format string, v ...any) {
	l.log.DebugContext(ctx, "redis client", "said", fmt.Sprintf(format, v...))
}
