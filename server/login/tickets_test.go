package login_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"redrain/grab/grabtest"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/server/login"
)

// lease is held by one node at a time. Another one goes on without it.
type lease struct {
	sync.Mutex

	before func() // happens before a node gets the lease, once; nil: nothing
}

func (l *lease) Under(ctx context.Context, do func(context.Context) error) error {
	if before := l.before; before != nil {
		l.before = nil
		before()
	}
	if !l.TryLock() {
		return nil
	}
	defer l.Unlock()
	return do(ctx)
}

func (*lease) Release(context.Context) {}

// TestTwoNodesFetchOneTicket: when there is none, and again when it ends soon.
func TestTwoNodesFetchOneTicket(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			w, client := sandbox(t, appSecret)
			shared := store.NewTickets(store.New(rdb, store.Options{Namespace: testenv.Namespace(t)}))
			var turn lease
			var nodes []*login.Tickets
			for range 2 {
				nodes = append(nodes, login.NewTickets(login.TicketsOptions{WeChat: client, Store: shared, Lease: &turn,
					Log: slog.New(slog.DiscardHandler)}))
			}
			testenv.WantErr(t, testenv.Err(nodes[0].Sign("https://rain.example/")), login.ErrNoTicket, "at first")
			turn.before = func() { testenv.Must(t, nodes[1].Refresh(t.Context())) }
			testenv.Must(t, nodes[0].Refresh(t.Context())) // it saw none, and the other node was faster
			testenv.Equal(t, w.Tickets(), 1, "fetched tickets at first")
			for round, want := range []string{"ticket-1", "ticket-1", "ticket-2"} {
				if want == "ticket-2" {
					testenv.Must(t, shared.Put(t.Context(), app, "ticket-1", 9*time.Minute))
				}
				var all sync.WaitGroup
				for _, n := range nodes {
					all.Go(func() { _ = n.Refresh(t.Context()) }) // one may come too early
				}
				all.Wait()
				for _, n := range nodes {
					testenv.Must(t, n.Refresh(t.Context()))
					testenv.Equal(t, n.Current(), want, "the node's ticket in round %d", round)
				}
				text, left, err := shared.Ticket(t.Context(), app)
				if text != want || left < time.Hour || left > 2*time.Hour || err != nil {
					t.Errorf("round %d: %q for %v, %v", round, text, left, err)
				}
			}
			testenv.Equal(t, w.Tickets(), 2, "fetched tickets")
			w.Fail(-1)
			testenv.Must(t, shared.Put(t.Context(), app, "ticket-2", 9*time.Minute))
			testenv.WantErr(t, nodes[0].Refresh(t.Context()), login.ErrBusy, "while WeChat is busy")
			signed := testenv.Got(nodes[0].Sign("https://rain.example/?campaign=c1#code=x")).Must(t)
			if signed.AppID != app || len(signed.NonceStr) < 16 || signed.Timestamp == 0 ||
				signed.Signature != login.Signature("ticket-2", signed.NonceStr, signed.Timestamp,
					"https://rain.example/?campaign=c1") {
				t.Errorf("%+v", signed)
			}
		})
	}
}

// TestTheSignatureOfThePage is the example of appendix 1 of WeChat's document about the JS-SDK.
func TestTheSignatureOfThePage(t *testing.T) {
	const ticket = "sM4AOVdWfPE4DxkXGEs8VMCPGGVi4C3VM0P37wVUCFvkVAy_90u5h9nbSlYy3-Sl-HhTdfl2fzFy1AOcHKP7qg"
	testenv.Equal(t, login.Signature(ticket, "Wm3WZYTPz0wzccnW", 1414587457, "http://mp.weixin.qq.com?params=value"),
		"0f9de62fce790f9a083d5c99e95740ceb90c27ed", "the signature")
}
