package store

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/internal/testenv"
)

func TestAddressesOfBothKinds(t *testing.T) {
	for addrs, want := range map[string]struct{ single, cluster string }{
		"localhost:6379":                          {"localhost:6379", "localhost:6379"},
		"[::1]:6379":                              {"[::1]:6379", "[::1]:6379"},
		"a:1,b:2":                                 {"a:1", "a:1 b:2"},
		"a:1 , b:2":                               {"a:1", "a:1 b:2"},
		"redis://:secret@h:7/3":                   {"h:7", ""},
		"redis://:secret@h:7?db=3":                {"h:7", ""},
		"redis://:secret@h:7/0":                   {"h:7", "h:7"},
		"rediss://user:secret@h:7":                {"h:7 tls", "h:7 tls"},
		"redis://u:secret@h:7?addr=i:8":           {"h:7", "h:7 i:8"},
		"redis://:addr=secret@h:7":                {"h:7", "h:7"},
		"redis://h:7?max_redirects=9":             {"h:7", "h:7"},
		"rediss://u:secret@h:7?addr=i:8&addr=j:9": {"h:7 tls", "h:7 i:8 j:9 tls"},
	} {
		single, cluster, err := parseAddress(addrs)
		testenv.WantErr(t, err, nil, addrs)
		if err != nil {
			continue
		}
		text, limits := describe(t, newClient(single))
		testenv.Equal(t, text, want.single, "%s: one server", addrs)
		const two = 2 * time.Second
		testenv.Equal(t, limits, patience{two, two, two, 5 * time.Minute, time.Minute, 1, true}, "%s: a server", addrs)
		if cluster == nil {
			testenv.Equal(t, "", want.cluster, "%s: a Cluster", addrs)
			continue
		}
		rdb := newClusterClient(cluster)
		text, limits = describe(t, rdb)
		testenv.Equal(t, text, want.cluster, "%s: a Cluster", addrs)
		testenv.Equal(t, limits, patience{two, two, two, 5 * time.Minute, time.Minute, 1, true}, "%s: a Cluster", addrs)
		// A failover is found within a second.
		testenv.Equal(t, rdb.Options().ClusterStateReloadInterval, time.Second, "%s: its map is read again", addrs)
	}
	for _, bad := range []string{"", "localhost", "a:1,", "a:1,b", "http://:secret@h:1", "redis://:secret@h:1/x",
		"redis://u:secret@h:1?addr=i:1&x=y", "redis://u:secret%@h", "redis://:secret@h:1?read_only=true",
		"redis://:secret@h:1?addr=i:1&route_randomly=true"} {
		err := CheckAddress(bad)
		if _, is := errors.AsType[AddressError](err); !is || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// patience has a client's time limits for Redis.
type patience struct {
	dial, read, write, life, lifeJitter time.Duration
	dials                               int
	context                             bool // no longer than its caller
}

// describe closes the client.
func describe(t *testing.T, rdb redis.UniversalClient) (text string, limits patience) {
	t.Helper()
	var parts []string
	tls := false
	switch c := rdb.(type) {
	case *redis.ClusterClient:
		o := c.Options()
		parts, tls = o.Addrs, o.TLSConfig != nil
		limits = patience{o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.ConnMaxLifetime, o.ConnMaxLifetimeJitter,
			o.DialerRetries, o.ContextTimeoutEnabled}
	case *redis.Client:
		o := c.Options()
		parts, tls = []string{o.Addr}, o.TLSConfig != nil
		limits = patience{o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.ConnMaxLifetime, o.ConnMaxLifetimeJitter,
			o.DialerRetries, o.ContextTimeoutEnabled}
	}
	testenv.Must(t, rdb.Close())
	text = strings.Join(parts, " ")
	if tls {
		text += " tls"
	}
	return text, limits
}

// answering is a server whose HELLO answers with a mode or, if that is an error of Redis, with it. All other commands
// are fine.
func answering(t *testing.T, mode string) (addr string) {
	t.Helper()
	l := testenv.Got(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")).Must(t)
	var all sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer func() { _ = conn.Close() }()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					answer := "+OK\r\n"
					switch word := strings.ToLower(lines.Text()); {
					case strings.HasPrefix(mode, "-") && word == "hello":
						answer = mode + "\r\n"
					case word == "hello":
						answer = fmt.Sprintf("*2\r\n$4\r\nmode\r\n$%d\r\n%s\r\n", len(mode), mode)
					case word != "client" && word != "select":
						continue // the other lines are arguments
					}
					_, _ = conn.Write([]byte(answer))
				}
			})
		}
	})
	return l.Addr().String()
}

// TestConnectAsksForTheKind: the number of addresses says nothing.
func TestConnectAsksForTheKind(t *testing.T) {
	cluster, server, sentinel := answering(t, "cluster"), answering(t, "standalone"), answering(t, "sentinel")
	proxy, none := answering(t, "-ERR unknown command 'HELLO'"), "127.0.0.1:1"
	const single, many = "*redis.Client", "*redis.ClusterClient"
	for addrs, want := range map[string]string{
		server: single, cluster: many, cluster + "," + none: many, none + "," + cluster: many, proxy: single,
		"redis://:p@" + cluster: many, "redis://" + cluster + "?addr=" + none: many, "redis://" + server + "/3": single,
		"redis://" + cluster + "/3": errDatabase.Error(), server + "," + none: errOneServer.Error(),
		"redis://" + server + "?addr=" + none: errOneServer.Error(), sentinel: errSentinel.Error(),
		"a,b": errHostPort.Error(),
	} {
		rdb, err := Connect(t.Context(), addrs)
		if err != nil {
			_, isFinal := errors.AsType[AddressError](err)
			testenv.Equal(t, fmt.Sprintf("%v %v", err, isFinal), want+" true", "%s", addrs)
			continue
		}
		testenv.Equal(t, fmt.Sprintf("%T", rdb), want, "%s", addrs)
		testenv.Must(t, rdb.Close())
	}
	for addr, want := range map[string]string{none: "connection refused", answering(t, "-WRONGPASS no"): "WRONGPASS"} {
		_, err := Connect(t.Context(), addr)
		_, isFinal := errors.AsType[AddressError](err)
		if isFinal || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want one of %s that may pass", addr, err, want)
		}
	}
}

// TestNewConnectionsUseTheNewestPassword: after a rotation and a lost connection the client works without a restart.
func TestNewConnectionsUseTheNewestPassword(t *testing.T) {
	t.Parallel()
	server := testenv.StartRedis(t)
	admin := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = admin.Close() })
	run := func(args ...any) {
		t.Helper()
		testenv.Must(t, admin.Do(t.Context(), args...).Err())
	}
	run("ACL", "SETUSER", "rain", "on", ">first", "+@all")
	var newest atomic.Value
	use := func(password string) string {
		addr := "redis://rain:" + password + "@" + server.Addr
		newest.Store(addr)
		return addr
	}
	rdb, err := ConnectAs(t.Context(), use("first"), func() string { return newest.Load().(string) })
	testenv.Must(t, err)
	t.Cleanup(func() { _ = rdb.Close() })
	testenv.Must(t, rdb.Ping(t.Context()).Err())
	run("ACL", "SETUSER", "rain", "resetpass", ">second")
	run("CLIENT", "KILL", "USER", "rain")
	testenv.WantFail(t, rdb.Ping(t.Context()).Err(), "with the old password")
	use("second")
	testenv.Must(t, rdb.Ping(t.Context()).Err())
}
