package e2e

import (
	"bytes"
	"database/sql"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/client"
	"redrain/internal/testenv"
	"redrain/payout/withdraw/webhook/webhooktest"
)

// arena is the place where one fault of the matrix is played: a server of each kind and two nodes. All are processes of
// its own that can be killed. The test reads Redis and the database itself, past redrain's reports.
type arena struct {
	t                  *testing.T
	redis, nats, mysql *testenv.Server
	s                  setting
	bank               *bank
	savers             []*savers
	rdb                *redis.Client
	db                 *sql.DB

	mu    sync.Mutex
	nodes [2]*process
}

// newArena starts everything.
func newArena(t *testing.T) *arena {
	t.Helper()
	a := &arena{t: t, bank: openBank(t), redis: testenv.StartRedis(t), nats: testenv.StartNATS(t),
		mysql: testenv.StartMySQL(t)}
	a.s = setting{redis: a.redis.Addr, nats: a.nats.URL, mysql: a.mysql.DSN, namespace: testenv.Namespace(t)}
	a.rdb = redis.NewClient(&redis.Options{Addr: a.redis.Addr})
	t.Cleanup(func() { _ = a.rdb.Close() })
	db := testenv.Got(sql.Open("mysql", a.mysql.DSN)).Must(t)
	db.SetMaxIdleConns(0) // the database is killed: an idle connection would be broken
	a.db = db
	t.Cleanup(func() { _ = db.Close() })
	for i := range a.nodes {
		a.startNode(i, "")
	}
	return a
}

// startNode puts a new node in a place. It kills itself at point; "" for never.
func (a *arena) startNode(i int, point string) {
	a.t.Helper()
	provider := []string{"--provider", "http", "--provider-url", a.bank.server.URL, "--provider-secret",
		webhooktest.Secret, "--provider-timeout", "1s"}
	p := startProcessWith(a.t, processOptions{
		env: []string{"REDRAIN_FAULT_AT=" + point}, log: &nodeLog{t: a.t, node: i},
		flags: append(a.s.flags(), provider...),
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.nodes[i] = p
}

// node is the present node of a place.
func (a *arena) node(i int) *process {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.nodes[i]
}

// op speaks to the node that no fault kills.
func (a *arena) op() *client.Client { return a.node(1).client }

// drainNode stops a node as an operator would, which it has to survive with exit code 0 even right after a fault.
func (a *arena) drainNode(i int) {
	a.t.Helper()
	p := a.node(i)
	p.Signal(syscall.SIGTERM)
	if state := p.Wait(time.Minute); !state.Success() {
		a.t.Errorf("node %d ended with: %v", i, state)
	}
}

// nodeLog keeps the newest lines of a node for the case that the test fails, and fails it where the node crashes or
// races.
type nodeLog struct {
	t    *testing.T
	node int

	mu    sync.Mutex
	lines []string
	shown sync.Once
}

func (l *nodeLog) Write(p []byte) (int, error) {
	for _, bad := range []string{"DATA RACE", "panic:", "fatal error:"} {
		if bytes.Contains(p, []byte(bad)) {
			l.t.Errorf("node %d: %s", l.node, p)
		}
	}
	l.shown.Do(func() { l.t.Cleanup(l.show) })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, strings.Split(strings.TrimRight(string(p), "\n"), "\n")...)
	const kept = 400
	l.lines = slices.Clone(l.lines[max(0, len(l.lines)-kept):])
	return len(p), nil
}

func (l *nodeLog) show() {
	if !l.t.Failed() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.t.Logf("the last %d lines of node %d:\n%s", len(l.lines), l.node, strings.Join(l.lines, "\n"))
}
