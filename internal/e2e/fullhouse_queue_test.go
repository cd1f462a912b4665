package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// queue asks for turns in a house with one seat.
type queue struct {
	t        *testing.T
	n        *node
	campaign string
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
