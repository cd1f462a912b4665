package posting_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

func TestReclaim(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10, Shards: 2})
		b.MustPost(t, paytest.Entry("c1", 1, paytest.Win(paytest.Home("u1", 0, 2), 0, 10)))
		early := paytest.ReclaimEntry(0, 2, rain.Range{First: 1, Last: 4})
		wantDead(t, "of an open campaign", b.MustPost(t, early), posting.LetterReclaim, "not closed")
		b.WantBalance(t, booking.SponsorAccount("acme"), 0)
		b.CloseCampaign(t, "c1")
		// Several reclaims of a shard, as moves arrive after its closing; each several times.
		testenv.Must(t, b.Moves.Write(t.Context(), "c1", 0, lent("m1", 1, 1, one(3))))
		entries := []rain.Entry{paytest.ReclaimEntry(0, 3, rain.Range{First: 1, Last: 2},
			rain.Range{First: 4, Last: 4}),
			paytest.ReclaimEntry(1, 2, rain.Range{First: 5, Last: 8}),
			paytest.ReclaimEntry(1, 3, rain.Range{First: 9, Last: 9}),
			paytest.ReclaimEntry(1, 4, rain.Range{First: 3, Last: 3})}
		for try := range 3 {
			slices.Reverse(entries)
			posted := b.MustPost(t, paytest.Copies(entries)...)
			if len(posted.Dead)+len(posted.Cut)+len(posted.Void) != 0 {
				t.Errorf("try %d: %+v", try, posted)
			}
			b.WantBalance(t, booking.SponsorAccount("acme"), 90)
			b.WantBalance(t, booking.EscrowAccount("c1"), 0)
		}
		testenv.Equal(t, b.Count(t, "SELECT COUNT(*) FROM reclaim"), 4, "reclaims are kept")
	})
}

// TestAReclaimGetsWhatIsNobodys: it gets no packets that are paid, in an open dead letter, returned before, or named
// twice. It is reported once.
func TestAReclaimGetsWhatIsNobodys(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 55, Packets: 10, Split: rain.List,
			Amounts: paytest.Amounts(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)})
		b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("u1", 0, 0), paytest.Win("u2", 5, 0)))
		b.Refuse(t, "poison")
		testenv.Must(t, testenv.Err(b.Attempt(t.Context(), paytest.Entry("c1", 2, paytest.Win("poison", 3, 0)),
			errors.New("no"), 1)))
		b.CloseCampaign(t, "c1")
		b.MustPost(t, paytest.ReclaimEntry(0, 3, rain.Range{First: 8, Last: 8}))
		all := paytest.ReclaimEntry(0, 4, rain.Range{First: 0, Last: 9}, rain.Range{First: 1, Last: 1})
		posted := b.MustPost(t, all, paytest.Entry("c1", 5, paytest.Win("u3", 6, 0))) // the win comes first
		if len(posted.Cut) != 1 || posted.Cut[0].Asked != 57 || posted.Cut[0].Given != 2+3+5+8+10 || posted.New != 1 {
			t.Errorf("%+v", posted)
		}
		if posted := b.MustPost(t, all); len(posted.Cut) != 0 || len(posted.Dead) != 0 {
			t.Errorf("again: %+v", posted)
		}
		b.WantBalance(t, booking.SponsorAccount("acme"), 9+2+3+5+8+10)
		b.WantBalance(t, booking.EscrowAccount("c1"), 4) // for the one that waits
		testenv.Equal(t, b.Count(t, "SELECT COUNT(*) FROM reclaim_cut WHERE asked = 57 AND given = 28"), 1,
			"cuts are kept")
	})
}

// TestAReclaimIsOfTheCampaign: packets that the campaign does not have, none, and those of another campaign's seal.
func TestAReclaimIsOfTheCampaign(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10, Shards: 2})
		b.CloseCampaign(t, "c1")
		for what, e := range map[string]rain.Entry{
			"some beyond":  paytest.ReclaimEntry(0, 1, rain.Range{First: 8, Last: 10}),
			"all beyond":   paytest.ReclaimEntry(0, 2, rain.Range{First: 10, Last: 20}),
			"one beyond":   paytest.ReclaimEntry(0, 3, rain.Range{First: 0, Last: 3}, rain.Range{First: 99, Last: 99}),
			"none":         paytest.ReclaimEntry(0, 4),
			"a huge range": paytest.ReclaimEntry(0, 5, rain.Range{First: 0, Last: rain.MaxPackets - 1}),
			"no shard":     paytest.ReclaimEntry(2, 5, rain.Range{First: 0, Last: 3}),
		} {
			wantDead(t, what, b.MustPost(t, e), posting.LetterReclaim, "the campaign has no")
			if _, err := b.Retry(t.Context(), e.Ref.String()); !errors.Is(err, ledger.ErrStillDead) {
				t.Error(what, err)
			}
		}
		elsewhere := paytest.ReclaimEntry(0, 6, rain.Range{First: 0, Last: 3})
		elsewhere.Ref.Shard = 1
		wantDead(t, "another shard's seal", b.MustPost(t, elsewhere), posting.LetterForged, "seal")
		b.WantBalance(t, booking.SponsorAccount("acme"), 0)
	})
}

// TestWhatWasGivenBackIsNotWon: Redis had forgotten a win, and its packet returned to the sponsor. The rest of the
// escrow belongs to other packets.
func TestWhatWasGivenBackIsNotWon(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 40, Packets: 4})
		b.CloseCampaign(t, "c1")
		b.MustPost(t, paytest.ReclaimEntry(0, 9, rain.Range{First: 1, Last: 2}))
		posted := b.MustPost(t, paytest.Entry("c1", 5, paytest.Win("u1", 1, 0), paytest.Win("u2", 0, 0)))
		if posted.New != 1 || len(posted.Dead) != 1 || posted.Dead[0].User != "u1" {
			t.Errorf("%+v", posted)
		}
		testenv.WantErr(t, testenv.Err(b.Retry(t.Context(), "c1-1")), ledger.ErrStillDead)
		b.MustPost(t, paytest.Entry("c1", 6, paytest.Win("u3", 3, 0)))
		for user, want := range map[string]rain.Money{"u1": 0, "u2": 10, "u3": 10} {
			b.WantBalance(t, booking.UserAccount(user), want)
		}
	})
}

// TestAWinMeetsAReclaimOfItsPacket: another node returns a packet between this one's read and its commit. One of the
// two gets it.
func TestAWinMeetsAReclaimOfItsPacket(t *testing.T) {
	t.Parallel()
	b := paytest.OnMySQL(t) // SQLite has one writer: there the two cannot meet
	b.OpenCampaign(t, "c1", rain.Spec{Budget: 40, Packets: 4})
	b.CloseCampaign(t, "c1")
	win := []rain.Entry{paytest.Entry("c1", 5, paytest.Win("u1", 1, 0))}
	late := errors.New("late")
	err := b.DB.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		batch, err := classified(ctx, b, tx, win)
		if err != nil {
			return err
		}
		b.MustPost(t, paytest.ReclaimEntry(0, 9, rain.Range{First: 1, Last: 2}))
		if _, err := b.Write(ctx, tx, batch); err != nil {
			return err
		}
		testenv.WantErr(t, batch.StillInBounds(ctx, tx), sqldb.ErrAgain, "after a reclaim")
		return late
	})
	if !errors.Is(err, late) {
		t.Fatal(err)
	}
	// In the other order the reclaim waits, and gets the rest.
	win = []rain.Entry{paytest.Entry("c1", 6, paytest.Win("u2", 3, 0))}
	reclaimed := make(chan posting.Posted, 1)
	err = b.DB.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		batch, err := classified(ctx, b, tx, win)
		if err != nil {
			return err
		}
		if _, err := b.Write(ctx, tx, batch); err != nil {
			return err
		}
		go func() {
			posted, err := b.Post(context.Background(),
				[]rain.Entry{paytest.ReclaimEntry(0, 10, rain.Range{First: 3, Last: 3})})
			testenv.WantErr(t, err, nil)
			reclaimed <- posted
		}()
		testenv.Eventually(t, 10*time.Second, "the reclaim waits for the escrow", func() bool {
			return b.Waits(t, "GLOBAL_STATUS", "variable_name = 'Innodb_row_lock_current_waits' AND variable_value > 0")
		})
		return batch.StillInBounds(ctx, tx)
	})
	if posted := <-reclaimed; err != nil || len(posted.Cut) != 1 || posted.Cut[0].Given != 0 {
		t.Errorf("%+v, %v", posted, err)
	}
	b.WantBalance(t, booking.UserAccount("u2"), 10)
	b.WantBalance(t, booking.SponsorAccount("acme"), 20)
	b.CheckBooks(t)
}

// TestManyNodesReclaimAndPay: some nodes return the rest of a campaign again and again, others post wins of the same
// packets. Each packet is paid or returned.
func TestManyNodesReclaimAndPay(t *testing.T) {
	paytest.OnEachInTurn(t, func(t *testing.T, b *paytest.Books) {
		const nodes, packets = 8, 64
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 10 * packets, Packets: packets})
		b.CloseCampaign(t, "c1")
		paytest.Together(nodes, func(n int) {
			l := paytest.Node(t, b)
			for i := range packets / 2 {
				packet := (7*i + n) % packets
				e := paytest.Entry("c1", 1000*n+i, paytest.Win("u", packet, 0))
				if n%2 == 0 {
					e = paytest.ReclaimEntry(0, 1000*n+i, rain.Range{First: packet, Last: min(packet+3, packets-1)})
				}
				testenv.WantErr(t, testenv.Err(l.Poster.Post(t.Context(), []rain.Entry{e})), nil)
			}
		})
		b.WantBalance(t, booking.EscrowAccount("c1"), 0)
		testenv.Equal(t, b.Count(t, "SELECT (SELECT COUNT(*) FROM payout) + (SELECT SUM(packets) FROM reclaim)"),
			packets, "packets are paid or given back, of")
		b.CheckBooks(t)
	})
}
