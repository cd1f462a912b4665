package store

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/internal/embedded"
	"redrain/internal/testenv"
)

// allMasters writes to each master of a Cluster and reads it again. It returns the number of masters.
func allMasters(t *testing.T, rdb redis.UniversalClient) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patiently(10*time.Second))
	defer cancel()
	name := testenv.Namespace(t)
	cluster, is := rdb.(*redis.ClusterClient)
	if !is {
		t.Errorf("%T for a Cluster", rdb)
		return 0
	}
	used := map[string]bool{}
	for i := range 40 {
		key := fmt.Sprintf("%s:%d", name, i)
		testenv.Must(t, rdb.Set(ctx, key, i, time.Minute).Err())
		testenv.Got(rdb.Get(ctx, key).Int()).Want(t, i, "%s", key)
		used[testenv.Got(cluster.MasterForKey(ctx, key)).Must(t).Options().Addr] = true
	}
	return len(used)
}

// TestOneAddressOfACluster: any node, also a replica, leads to all masters. So does a name of a changing node, which a
// managed Cluster has; the proxy stands for it.
func TestOneAddressOfACluster(t *testing.T) {
	nodes := testenv.RedisCluster(t)
	configuration := testenv.NewProxy(t, nodes[0])
	for _, addr := range []string{nodes[0], nodes[len(nodes)-1], "redis://" + nodes[1], configuration.Addr} {
		rdb, err := Connect(t.Context(), addr)
		testenv.Must(t, err)
		testenv.Equal(t, allMasters(t, rdb), 3, "%s: masters in use", addr)
		testenv.Must(t, rdb.Close())
	}
	server := testenv.Redis(t)
	_, err := Connect(t.Context(), server+","+server)
	testenv.WantErr(t, err, errOneServer, "two addresses of single servers")
}

// TestAClusterWithACertificateForEachNode: the name of the dialed node is verified, and not the URL's.
func TestAClusterWithACertificateForEachNode(t *testing.T) {
	for name, shared := range map[string]string{"one for each node": "", "one for all": "redis.example"} {
		t.Run(name, func(t *testing.T) {
			c := testenv.StartSecureCluster(t, shared)
			connect := func(name string) (redis.UniversalClient, error) {
				single, cluster, err := parseAddress("rediss://" + c.Addrs[0] + "?addr=" + c.Addrs[1])
				testenv.Must(t, err)
				single.TLSConfig.RootCAs = c.Roots // SSL_CERT_FILE counts at the start of a process only
				single.TLSConfig.ServerName = name
				cluster.TLSConfig = single.TLSConfig
				return connectTo(t.Context(), single, cluster)
			}
			host, _, err := net.SplitHostPort(c.Addrs[0])
			testenv.Must(t, err)
			if shared != "" {
				host = shared
			}
			rdb, err := connect(host)
			testenv.Must(t, err)
			testenv.Equal(t, allMasters(t, rdb), 3, "masters in use")
			testenv.Must(t, rdb.Close())
			if shared == "" {
				return
			}
			if _, err := connect("other.example"); err == nil || !strings.Contains(err.Error(), "other.example") {
				t.Errorf("with a certificate for another name: %v", err)
			}
		})
	}
}

// TestAClusterThatHasMoved: no known node answers any more, and the configured name leads to other ones.
func TestAClusterThatHasMoved(t *testing.T) {
	start := func() (addr string, stop func()) {
		t.Helper()
		own := testenv.Got(embedded.Redis()).Must(t)
		stop = sync.OnceFunc(own.Close)
		t.Cleanup(stop)
		return own.Addr(), stop
	}
	old, stop := start()
	name := testenv.NewProxy(t, old)
	rdb := newClusterClient(&redis.ClusterOptions{Addrs: []string{name.Addr}})
	t.Cleanup(func() { _ = rdb.Close() })
	testenv.Must(t, rdb.Set(t.Context(), "k", 1, 0).Err())
	young, _ := start()
	stop()
	name.To(young)
	name.Cut()
	testenv.Eventually(t, 10*time.Second, "the other nodes are found", func() bool {
		return rdb.Set(t.Context(), "k", 2, 0).Err() == nil
	})
}
