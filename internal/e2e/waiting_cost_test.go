package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"redrain/internal/testenv"
)

// queue asks for turns in a house with one seat.
type queue struct {
	t        *testing.T
	n        *node
	campaign string
	hungUp   atomic.Int64 // answers after which the node has ended the connection
}

// ask is one player's question, over a connection of their own that they do not end themselves where the node says
// that it will. Each has an address of their own as well: nothing may be kept for those either.
func (q *queue) ask(i int) error {
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(q.n.url, "http://"), time.Minute)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(conn, "GET /api/v1/admission?campaign=%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
		"X-Forwarded-For: 10.%d.%d.%d\r\n\r\n", q.campaign, token(q.t, fmt.Sprintf("waits-%d", i)), i>>16, i>>8&255,
		i&255)
	if err != nil {
		return err
	}
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	var is turn
	if err := json.NewDecoder(resp.Body).Decode(&is); err != nil || resp.StatusCode != http.StatusOK ||
		is.Admitted || is.Position < 1 {
		return fmt.Errorf("%s %+v: %w", resp.Status, is, err)
	}
	if resp.Close {
		if _, err := io.Copy(io.Discard, in); err != nil {
			return fmt.Errorf("the node has not hung up as it said: %w", err)
		}
		q.hungUp.Add(1)
	}
	return nil
}

// all has players from one number up to another ask, 16 at a time.
func (q *queue) all(from, to int) {
	q.t.Helper()
	next := atomic.Int64{}
	next.Store(int64(from))
	var asking sync.WaitGroup
	for range 16 {
		asking.Go(func() {
			for i := int(next.Add(1)) - 1; i < to; i = int(next.Add(1)) - 1 {
				if err := q.ask(i); err != nil {
					q.t.Errorf("player %d: %v", i, err)
					return
				}
			}
		})
	}
	asking.Wait()
}

// TestWaitingCost: players who wait have their places in Redis. A node keeps less than 1 KB for each of ten thousand
// that have asked it for their turn, and none of their connections. It runs alone: the heap is that of all tests.
func TestWaitingCost(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	const warm, players = 500, 10_000
	cfg := realSetting(t).config()
	cfg.Proxies = []string{"127.0.0.0/8"}
	n := startNode(t, cfg)
	spec := fund(t, n, "waiting-cost", 1_000, 10)
	spec.Capacity = 1
	c, err := n.client.CreateCampaign(within(t, time.Minute), spec, "")
	if err != nil {
		t.Fatal(err)
	}
	q := &queue{t: t, n: n, campaign: c.ID}
	join(t, n, "who-sits", c.ID)
	q.all(0, warm) // pools of connections and of buffers are as large as they get
	before, sockets, hungUp := heap(), openSockets(t), q.hungUp.Load()
	q.all(warm, warm+players)
	each := (heap() - before) / players
	t.Logf("%d bytes for each of %d who wait", each, players)
	if each >= 1024 {
		t.Errorf("the node keeps %d bytes for each of %d who wait", each, players)
	}
	if got := q.hungUp.Load() - hungUp; got < players*9/10 {
		t.Errorf("the node has ended %d connections of %d that wait for long", got, players)
	}
	// a connection more of a pool is none of theirs
	testenv.Eventually(t, time.Minute, "their sockets are closed", func() bool { return openSockets(t) < sockets+50 })
}

// heap is what is in use after everything else has been collected.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what pools have kept through the first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// openSockets are those of this process.
func openSockets(t *testing.T) (open int) {
	t.Helper()
	const all = "/proc/self/fd/"
	files, err := os.ReadDir(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if to, err := os.Readlink(all + f.Name()); err == nil && strings.HasPrefix(to, "socket:") {
			open++
		}
	}
	return open
}
