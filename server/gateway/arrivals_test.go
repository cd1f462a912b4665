package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/grab/store"
	"redrain/internal/embedded"
	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/room"
	"redrain/server/cluster"
	"redrain/server/live"
	"redrain/server/servertest"
)

// TestSettledWhileArriving: a claim that the welcome calls granted, and of which the node hears that it is settled
// before the player sits in the room, is told on that connection all the same, once; and nothing of it to a
// connection that has heard it already.
func TestSettledWhileArriving(t *testing.T) {
	own, err := embedded.Redis()
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	rdb, err := store.Connect(own.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rdb.Close() }()
	db, err := sqldb.OpenSQLite("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	now := func() int64 { return time.Now().UnixMilli() }
	lobby := room.NewLobby(room.Options{Log: quiet})
	grabber := newTestGrabber(rdb, testenv.Namespace(t), now, lobby)
	defer grabber.Close()
	c := servertest.RainingCampaign(t, grabber, now(), 10)
	registry := cluster.NewRegistry(
		cluster.RegistryOptions{Source: servertest.Campaigns{c.ID: c}, Known: cluster.NewKnown(), Log: quiet},
	)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- lobby.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	var reading func() // what happens while a welcome is being made
	g := New(Options{
		Campaigns: registry, Gate: func(c *rain.Campaign) Gate { return grabber.Gate(c) }, Wins: grabber,
		Claims: ledger.New(db, now, rain.NewAmountsCache()).Claims, Limits: grabber, Door: &turns{}, Lobby: lobby,
		Counts: live.NewCounts(),
		Log:    quiet, Registerer: prometheus.NewRegistry(),
		Clock: func() int64 {
			if do := reading; do != nil {
				reading = nil
				do()
			}
			return now()
		},
	})
	settle := func(packets ...int) {
		var n cluster.Settled
		for _, packet := range packets {
			n.Claims = append(
				n.Claims,
				cluster.SettledClaim{Claim: rain.ClaimID(c.ID, packet), User: "u", Packet: packet,
					Amount: 1, Balance: rain.Money(packet)},
			)
		}
		n.Claims = append(n.Claims, cluster.SettledClaim{Claim: "another's", User: "v", Amount: 1, Balance: 1})
		g.Settled(c.ID, n)
	}
	connect := func() (*session, *servertest.Ear) {
		hearing := &servertest.Ear{}
		return &session{g: g.shared, member: lobby.NewMember(hearing.Connect(t), nil)}, hearing
	}
	told := func(e *servertest.Ear, what string) (n int) {
		for _, h := range e.Of(wire.TypeSettled) {
			n += strings.Count(string(h.Data), what)
		}
		return n
	}
	enter := func(s *session) {
		t.Helper()
		if err := s.enter(t.Context(), "u", wire.Request{Type: wire.TypeHello, Campaign: c.ID}); err != nil {
			t.Fatal(err)
		}
		s.user = "u"
	}

	there, heardThere := connect()
	enter(there)
	coming, heard := connect()
	reading = func() { settle(7); settle(8, 9) }
	enter(coming)
	settle(10)
	reading = func() { settle(11) }
	enter(there) // moves: it sits in a room all the while

	for packet, want := range map[int]int{7: 1, 8: 1, 9: 1, 10: 1, 11: 1} {
		claim := fmt.Sprintf(`{"claim":%q`, rain.ClaimID(c.ID, packet))
		for who, conn := range map[string]*servertest.Ear{"who was coming": heard, "who was there": heardThere} {
			testenv.Eventually(t, 10*time.Second, "claim "+claim+" to "+who,
				func() bool { return told(conn, claim) > 0 })
			if n := told(conn, claim); n != want {
				t.Errorf("%s was told %d times of %s", who, n, claim)
			}
		}
	}
	if told(heard, "another's")+told(heardThere, "another's") > 0 {
		t.Error("told of another player's claim")
	}
	if len(g.arrivals.coming) > 0 {
		t.Errorf("%d players are still on their way", len(g.arrivals.coming))
	}

	// One whose welcome fails leaves nothing behind.
	lost, _ := connect()
	if err := lost.enter(t.Context(), "u", wire.Request{Type: wire.TypeHello, Campaign: "nowhere"}); err == nil ||
		len(g.arrivals.coming) > 0 {
		t.Errorf("%v, and %d players on their way", err, len(g.arrivals.coming))
	}
}

// TestNews: what the welcome has said as settled is no news; the balance is.
func TestNews(t *testing.T) {
	missed := &wire.Settled{Claims: []wire.SettledClaim{{Claim: "a"}, {Claim: "b"}, {Claim: "c"}}, Balance: 5}
	welcome := []wire.Claim{{Claim: "a", State: "settled"}, {Claim: "b", State: "granted"}}
	if got := news(missed, welcome); got == nil || len(got.Claims) != 2 || got.Claims[0].Claim != "b" ||
		got.Claims[1].Claim != "c" || got.Balance != 5 {
		t.Errorf("%+v", got)
	}
	if news(&wire.Settled{Claims: missed.Claims[:1]}, welcome) != nil || news(nil, welcome) != nil {
		t.Error("news of nothing")
	}
}
