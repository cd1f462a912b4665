package api

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"redrain/grab"
	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/embedded"
	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/payout/ledger"
	"redrain/payout/paytest"
	"redrain/rain"
	"redrain/server/servertest"
)

// TestGrantedOnly: a settled win is not listed as granted, even if its entry is still in the outbox. The filters by
// user and packet apply to granted wins, too.
func TestGrantedOnly(t *testing.T) {
	own, err := embedded.Redis()
	testenv.Must(t, err)
	defer own.Close()
	rdb, err := store.Connect(t.Context(), own.Addr())
	testenv.Must(t, err)
	defer func() { _ = rdb.Close() }()
	db, err := sqldb.OpenSQLite("")
	testenv.Must(t, err)
	defer func() { _ = db.Close() }()
	testenv.Must(t, db.Migrate(t.Context()))
	now := func() int64 { return time.Now().UnixMilli() }
	grabber := grabtest.NewNode(
		rdb,
		grabtest.Options{Namespace: testenv.Namespace(t), Options: grab.Options{Clock: now}},
	)
	defer grabber.Close()
	c := servertest.RainingCampaign(t, grabber, now(), 10)
	win := func(user string) outcome.Result {
		return grabtest.TapOn(grabber.Gate(c), user, "0.0")
	}
	ours, theirs := win("u"), win("v")
	if ours.Outcome != outcome.Won || theirs.Outcome != outcome.Won {
		t.Fatal(ours, theirs)
	}
	books := ledger.New(db, now, rain.NewAmountsCache())
	a := newAPI(Options{Wins: grabber, Outbox: grabber, Claims: books.Claims, Failing: books.Poster})
	count := func(only ledger.ClaimFilter, want int) {
		t.Helper()
		got, err := a.grantedOnly(t.Context(), c, only)
		if err != nil || len(got) != want {
			t.Errorf("%+v: %+v, %v; want %d", only, got, err, want)
		}
	}
	count(ledger.ClaimFilter{}, 2)
	count(ledger.ClaimFilter{State: ledger.StateGranted}, 2)
	count(ledger.ClaimFilter{State: ledger.StateSettled}, 0)
	count(ledger.ClaimFilter{User: "u"}, 1)
	count(ledger.ClaimFilter{Packet: &theirs.Packet, State: ledger.StateGranted}, 1)
	err = db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(
			ctx,
			"INSERT INTO payout (campaign_id, packet, claim, user_id, amount, state, drop_id, shard, won_at, "+
				"entry_seq, settled_at, txn_id) "+
				"VALUES (?, ?, ?, 'u', 1, 'settled', '0.0', 0, 0, 0, 0, 1)",
			c.ID,
			ours.Packet,
			rain.ClaimID(c.ID, ours.Packet),
		)
		return err
	})
	testenv.Must(t, err)
	count(ledger.ClaimFilter{State: ledger.StateGranted}, 1)
	count(ledger.ClaimFilter{State: ledger.StateGranted, User: "u"}, 0)
}

// manyClaims has one claim of each player u0, u1 and so on.
type manyClaims struct {
	claimList
	n int
}

func (m manyClaims) EachClaim(_ context.Context, _ string, _ ledger.ClaimFilter,
	yield func(ledger.Claim) error) error {
	for i := range m.n {
		one := ledger.Claim{Claim: "c1-1", User: "u" + strconv.Itoa(i), State: ledger.StateSettled}
		if err := yield(one); err != nil {
			return err
		}
	}
	return nil
}

// The CSV has the known names of the players, read in batches. If they cannot be read, the claims come without.
func TestNamesInTheCSV(t *testing.T) {
	asked, most := 0, 0
	var away error
	a := newAPI(Options{Claims: manyClaims{n: 2*csvAtOnce + 1}, Log: paytest.Quiet,
		Profiles: func(_ context.Context, users []string) (map[string]wire.Profile, error) {
			asked, most = asked+1, max(most, len(users))
			known := map[string]wire.Profile{}
			for _, user := range users {
				if user != "u1" {
					known[user] = wire.Profile{Name: "=" + user, Face: "koi"}
				}
			}
			return known, away
		}})
	rows := func() []string {
		t.Helper()
		w := httptest.NewRecorder()
		a.serve(w, httptest.NewRequest(http.MethodGet, "/", nil), route{method: http.MethodGet, need: anyone,
			handle: func(q *request) (any, error) {
				waiting := []ledger.Claim{{Claim: "c1-2", User: "late", Packet: 2, State: ledger.StateGranted}}
				return nil, a.claimsCSV(q, &rain.Campaign{ID: "c1"}, ledger.ClaimFilter{}, waiting)
			}})
		return strings.Split(strings.TrimSpace(w.Body.String()), "\n")
	}
	got := rows()
	testenv.Equal(t, len(got), 2*csvAtOnce+3, "rows")
	testenv.Equal(t, []int{asked, most}, []int{3, csvAtOnce}, "calls for names, and players in one")
	for i, end := range map[int]string{0: ",nickname,face", 1: ",'=u0,koi", 2: ",,", 2*csvAtOnce + 2: ",'=late,koi"} {
		if !strings.HasSuffix(got[i], end) {
			t.Errorf("row %d is %q, want %q at its end", i, got[i], end)
		}
	}
	asked, away = 0, errors.New("away")
	testenv.Equal(t, len(rows()), 2*csvAtOnce+3, "rows without Redis")
	testenv.Equal(t, asked, 1, "calls for names while they cannot be read")
}
