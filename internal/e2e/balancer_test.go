package e2e

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"redrain/internal/testenv"
)

// balanced are two nodes behind HAProxy with the shipped configuration, seen through it.
type balanced struct {
	*node

	nodes  [2]*process
	admins [2]string // URLs of --admin-listen
	proxy  *testenv.Server
}

// behindHAProxy starts deploy/balancers/haproxy.cfg before two processes on the setting.
func behindHAProxy(t *testing.T, s setting) *balanced {
	t.Helper()
	pairs := []string{"bind :80\n", "bind LISTEN\n", "maxconn 100000", "maxconn 8000"} // files are limited here
	b := &balanced{}
	for i := range b.nodes {
		admin := testenv.Addr(t)
		b.nodes[i] = startProcessWith(t, processOptions{flags: append(s.flags(), "--admin-listen", admin,
			"--trusted-proxies", "127.0.0.1", "--drain-delay", "3s")})
		b.admins[i] = "http://" + admin
		_, port, err := net.SplitHostPort(admin)
		testenv.Must(t, err)
		pairs = append(pairs, fmt.Sprintf("172.30.0.%d:8080", 21+i),
			strings.TrimPrefix(b.nodes[i].url, "http://")+" port "+port)
	}
	b.proxy = testenv.StartHAProxyWith(t, shipped(t, "haproxy.cfg", pairs...))
	b.node = nodeAt(t, "http://"+b.proxy.Addr)
	b.await(t, "UP", 0, 1)
	return b
}

// balancedNode is HAProxy's view of a node.
type balancedNode struct {
	status    string // UP or DOWN, or a step between such as "UP 1/2"
	downs     string // how often it went from UP to DOWN
	lastCheck string // the code of HTTP
}

// servers asks the socket of HAProxy's statistics.
func (b *balanced) servers(t *testing.T) [2]balancedNode {
	t.Helper()
	conn := testenv.Got(net.Dial("unix", filepath.Join(b.proxy.Data(), "stats"))).Must(t)
	defer func() { _ = conn.Close() }()
	testenv.Must(t, testenv.Err(io.WriteString(conn, "show stat\n")))
	table := csv.NewReader(conn)
	table.FieldsPerRecord = -1 // an empty line ends it
	rows := testenv.Got(table.ReadAll()).Must(t)
	of := map[string]map[string]string{}
	for _, row := range rows[1:] {
		fields := map[string]string{}
		for i, name := range rows[0] {
			fields[name] = row[i]
		}
		of[fields["svname"]] = fields
	}
	var found [2]balancedNode
	for i := range found {
		fields := of[fmt.Sprintf("node-%d", i+1)]
		found[i] = balancedNode{fields["status"], fields["chkdown"], fields["check_code"]}
	}
	return found
}

// await waits until HAProxy shows the status for these nodes.
func (b *balanced) await(t *testing.T, status string, nodes ...int) {
	t.Helper()
	testenv.Eventually(t, 30*time.Second, fmt.Sprintf("HAProxy shows %s for nodes %v", status, nodes), func() bool {
		servers := b.servers(t)
		for _, i := range nodes {
			if servers[i].status != status {
				return false
			}
		}
		return true
	})
}

// TestBalancerKeepsNodes: MariaDB or NATS is away for 20 s in a rain. HAProxy never takes a node out, all newcomers
// join and win, and every reported win reaches the ledger. Without Redis, HAProxy takes both nodes out; they come back
// by themselves.
func TestBalancerKeepsNodes(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	t.Parallel()
	for name, begin := range map[string]func(t *testing.T, s *setting) *testenv.Server{
		"mysql": func(t *testing.T, s *setting) *testenv.Server {
			t.Helper()
			server := testenv.StartMySQL(t)
			s.mysql = server.DSN
			return server
		},
		"nats": func(t *testing.T, s *setting) *testenv.Server {
			t.Helper()
			server := testenv.StartNATS(t)
			s.nats = server.URL
			return server
		},
		"redis": func(t *testing.T, s *setting) *testenv.Server {
			t.Helper()
			server := testenv.StartRedis(t)
			s.redis = server.Addr
			return server
		},
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Parallel(t, testenv.Medium)
			s := realSetting(t)
			server := begin(t, &s)
			b := behindHAProxy(t, s)
			campaign := b.rain(t)
			players := []*player{join(t, b.node, "before", campaign)}
			players[0].winOne(t)
			server.Kill()
			if name == "redis" {
				b.await(t, "DOWN", 0, 1)
				server.Start()
				b.await(t, "UP", 0, 1)
			} else {
				for back := time.Now().Add(20 * time.Second); time.Now().Before(back); {
					p, err := hello(t, b.node, fmt.Sprintf("new-%d", len(players)), campaign)
					testenv.Must(t, err)
					p.winOne(t)
					players = append(players, p)
					<-time.After(500 * time.Millisecond)
				}
				wantReady(t, &node{url: b.admins[0]}, 200, "degraded", name)
				server.Start()
			}
			late := join(t, b.node, "after", campaign)
			late.winOne(t)
			for _, p := range append(players, late) {
				awaitPaid(t, b.node, p)
			}
			wantDowns := "0"
			if name == "redis" {
				wantDowns = "1"
			}
			for i, is := range b.servers(t) {
				if is.status != "UP" || is.downs != wantDowns {
					t.Errorf("node %d: %+v, want UP after %s times DOWN", i+1, is, wantDowns)
				}
			}
			t.Logf("%d players won meanwhile", len(players))
		})
	}
}

// rain starts one that lasts longer than the test, and returns its campaign.
func (b *balanced) rain(t *testing.T) (campaign string) {
	t.Helper()
	spec := fund(t, b.node, "balanced", 1_000_000, 100_000)
	spec.WinsPerUser = 100
	campaign = createCampaign(t, b.client, spec).ID
	startRain(t, b.client, campaign, longRain(16))
	return campaign
}

// TestBalancerSeesADrain: SIGTERM to one of two nodes while 50 players a second come: each is welcomed. /readyz says
// draining for at least 2 s, so HAProxy takes the node out by its answer, not by a refused connection. An idle node
// does the same.
func TestBalancerSeesADrain(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	t.Parallel()
	for name, perSecond := range map[string]int{"idle": 0, "50 players a second": 50} {
		t.Run(name, func(t *testing.T) {
			testenv.Parallel(t, testenv.Medium)
			b := behindHAProxy(t, realSetting(t))
			var campaign string
			if perSecond > 0 {
				campaign = b.rain(t)
			}
			var came sync.WaitGroup
			defer came.Wait()
			ctx := within(t, 30*time.Second)
			b.nodes[0].Signal(syscall.SIGTERM)
			drains := make(chan time.Duration, 1)
			came.Go(func() { drains <- drainSeen(ctx, b.admins[0]) })
			count := 0
			for ended := false; !ended; count++ {
				pause := time.Second
				if perSecond > 0 {
					user := fmt.Sprintf("user-%d", count)
					signed := token(t, user)
					came.Go(func() { b.visit(t, user, signed, campaign) })
					pause = time.Second / time.Duration(perSecond)
				}
				select {
				case <-b.nodes[0].Done():
					ended = true
				case <-time.After(pause):
				case <-ctx.Done():
					t.Fatal("the node does not end")
				}
			}
			if seen := <-drains; seen < 2*time.Second {
				t.Errorf("draining was seen for %v", seen)
			}
			if state := b.nodes[0].Wait(time.Minute); !state.Success() {
				t.Errorf("the node ended with %v", state)
			}
			testenv.Contains(t, b.proxy.Log(), "Server redrain/node-1 is DOWN, reason: Layer7 wrong status, code: 503",
				"the log of HAProxy")
		})
	}
}

// visit says hello and goes. The connection must be welcomed.
func (b *balanced) visit(t *testing.T, user, token, campaign string) {
	t.Helper()
	p, err := enter(t, within(t, 20*time.Second), b.node, user, token, campaign)
	testenv.WantErr(t, err, nil, user, "is refused:")
	if p != nil && err == nil {
		p.hangUp()
	}
}

// drainSeen returns how long /readyz says draining, until the address closes.
func drainSeen(ctx context.Context, admin string) time.Duration {
	var first, last time.Time
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, admin+"/readyz", nil)
		if err != nil {
			return 0
		}
		resp, err := httpClient.Do(req)
		if err != nil {
			return last.Sub(first)
		}
		text, err := io.ReadAll(resp.Body)
		if errors.Join(err, resp.Body.Close()) == nil && resp.StatusCode == http.StatusServiceUnavailable &&
			strings.Contains(string(text), `"draining"`) {
			if last = time.Now(); first.IsZero() {
				first = last
			}
		}
		<-time.After(20 * time.Millisecond)
	}
}
