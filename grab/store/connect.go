package store

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
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
	// A connection is replaced after this time, a minute more or less, so that a name which leads to another server now
	// is resolved again. A server that was the master may still answer reads.
	connLife, connLifeJitter = 5 * time.Minute, time.Minute
)

// AddressError is a fault of Redis's address that waiting does not mend. It repeats no part of the address, because
// there may be a password in it.
type AddressError string

// Error returns the remedy.
func (e AddressError) Error() string { return string(e) }

const (
	errHostPort AddressError = "one of the addresses is not host:port"
	errURL      AddressError = "give host:port, several by commas for a Cluster, or redis://[user:password@]host:port" +
		"[/database] or rediss://…, for more nodes of a Cluster with ?addr=host:port&addr=…"
	errReplicas AddressError = "leave out read_only, route_by_latency and route_randomly: a replica may lack the " +
		"newest wins"
	errOneServer AddressError = "several addresses are for a Cluster, and a single server answers: give one address"
	errDatabase  AddressError = "a Cluster answers: it has only database 0, and takes no options of a single server"
	errSentinel  AddressError = "a Sentinel answers: give the master's address, or a name that follows the master"
)

// CheckAddress returns an AddressError for an address that Connect refuses without asking a server.
func CheckAddress(addrs string) error {
	_, _, err := parseAddress(addrs)
	return err
}

// Connect asks Redis whether it is a Cluster, and returns a client for it. The argument addrs is one "host:port", or
// several of one Cluster, separated by commas, or a URL. A URL is redis:// or rediss:// (TLS). It has further nodes of
// a Cluster as in rediss://user:password@host:port?addr=host2:port2. One node of a Cluster is enough to find the
// others. An AddressError is final; after any other error Connect may be called again.
func Connect(ctx context.Context, addrs string) (redis.UniversalClient, error) {
	return ConnectAs(ctx, addrs, func() string { return addrs })
}

// ConnectAs is Connect with a user and a password that may change. Each new connection takes them from the address that
// newest returns.
func ConnectAs(ctx context.Context, addrs string, newest func() string) (redis.UniversalClient, error) {
	single, cluster, err := parseAddress(addrs)
	if err != nil {
		return nil, err
	}
	login := func(context.Context) (user, password string, err error) {
		now, _, err := parseAddress(newest())
		if err != nil {
			return "", "", err
		}
		return now.Username, now.Password, nil
	}
	single.CredentialsProviderContext = login
	if cluster != nil {
		cluster.CredentialsProviderContext = login
	}
	return connectTo(ctx, single, cluster)
}

func connectTo(ctx context.Context, single *redis.Options,
	cluster *redis.ClusterOptions) (redis.UniversalClient, error) {
	nodes := []string{single.Addr}
	if cluster != nil {
		nodes = cluster.Addrs
	}
	mode, err := askMode(ctx, single, nodes)
	switch {
	case err != nil:
		return nil, err
	case mode == "sentinel":
		return nil, errSentinel
	case mode == "cluster" && cluster == nil:
		return nil, errDatabase
	case mode == "cluster":
		return newClusterClient(cluster), nil
	case len(nodes) > 1:
		return nil, errOneServer
	default:
		return newClient(single), nil
	}
}

// parseAddress returns the options for both kinds of Redis. cluster is nil if the address can only be that of a single
// server.
func parseAddress(addrs string) (single *redis.Options, cluster *redis.ClusterOptions, err error) {
	if !strings.Contains(addrs, "://") {
		var list []string
		for addr := range strings.SplitSeq(addrs, ",") {
			addr = strings.TrimSpace(addr)
			if _, _, err := net.SplitHostPort(addr); err != nil {
				return nil, nil, errHostPort
			}
			list = append(list, addr)
		}
		return &redis.Options{Addr: list[0]}, &redis.ClusterOptions{Addrs: list}, nil
	}
	single, noSingle := redis.ParseURL(addrs)
	cluster, noCluster := redis.ParseClusterURL(addrs)
	switch {
	case noSingle != nil && noCluster != nil:
		return nil, nil, errURL
	case noSingle != nil: // because of addr, for example
		server, _, _ := strings.Cut(addrs, "?")
		if single, err = redis.ParseURL(server); err != nil {
			return nil, nil, errURL
		}
	}
	if noCluster != nil || single.DB != 0 {
		return single, nil, nil
	}
	if cluster.ReadOnly || cluster.RouteByLatency || cluster.RouteRandomly {
		return nil, nil, errReplicas
	}
	return single, cluster, nil
}

// askMode asks one of the nodes for the mode of Redis: "standalone", "cluster" or "sentinel". HELLO is a command that
// every user may call. A proxy that does not know it stands for a single server.
func askMode(ctx context.Context, o *redis.Options, nodes []string) (mode string, err error) {
	for _, i := range rand.Perm(len(nodes)) { //nolint:gosec // it spreads the load
		one := *o
		one.Addr, one.PoolSize, one.MinIdleConns, one.MaxRetries = nodes[i], 1, 0, -1
		server := newClient(&one)
		hello := redis.NewMapStringInterfaceCmd(ctx, "hello", 3)
		err = server.Process(ctx, hello)
		_ = server.Close()
		if err == nil {
			mode, _ = hello.Val()["mode"].(string)
			return mode, nil
		}
		if redis.HasErrorPrefix(err, "unknown command") || redis.HasErrorPrefix(err, "NOPROTO") {
			return "", nil
		}
	}
	return "", fmt.Errorf("ask for the kind of redis: %w", err)
}

func newClient(o *redis.Options) *redis.Client {
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.DialerRetries = dialTimeout, ioTimeout, ioTimeout, dialTries
	o.ConnMaxLifetime, o.ConnMaxLifetimeJitter = connLife, connLifeJitter
	o.ContextTimeoutEnabled = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.Dialer = dialer(o.TLSConfig)
	return redis.NewClient(o)
}

func newClusterClient(o *redis.ClusterOptions) *redis.ClusterClient {
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.DialerRetries = dialTimeout, ioTimeout, ioTimeout, dialTries
	o.ConnMaxLifetime, o.ConnMaxLifetimeJitter = connLife, connLifeJitter
	o.ContextTimeoutEnabled = true
	o.ClusterStateReloadInterval = clusterReload
	o.MinRetryBackoff, o.MaxRetryBackoff = retryFrom, retryUpTo
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.Dialer = dialer(o.TLSConfig)
	return redis.NewClusterClient(o)
}

// dialer connects as go-redis does by itself. It sends a batch of taps without waking the runtime's monitor.
//
// A server's certificate must be valid for the dialed address: each node of a Cluster may have its own. If it is not,
// the host of the URL counts, which is all that go-redis would accept. Then the nodes of a Cluster that announces IP
// addresses can share the certificate of its name.
func dialer(secure *tls.Config) func(ctx context.Context, network, addr string) (net.Conn, error) {
	byURL := redis.NewDialer(&redis.Options{DialTimeout: dialTimeout, TLSConfig: secure})
	byAddr := byURL
	if secure != nil {
		own := secure.Clone()
		own.ServerName = "" // that of the dialed address
		byAddr = redis.NewDialer(&redis.Options{DialTimeout: dialTimeout, TLSConfig: own})
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := byAddr(ctx, network, addr)
		if _, isOther := errors.AsType[x509.HostnameError](err); isOther {
			conn, err = byURL(ctx, network, addr)
		}
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
