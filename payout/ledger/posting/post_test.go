package posting_test

import (
	"context"
	"fmt"
	"strings"
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

func TestMain(m *testing.M) { testenv.Main(m) }

func TestPost(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10, Split: rain.List,
			Amounts: paytest.Amounts(10, 20, 5, 10, 10, 10, 10, 10, 14, 1)})
		b.OpenCampaign(t, "c2", rain.Spec{Budget: 70, Packets: 10, Sponsor: "other"})
		posted := b.MustPost(t,
			paytest.Entry("c1", 1, paytest.Win("u1", 0, 0), paytest.Win("u2", 1, 0), paytest.Win("u1", 2, 0)),
			paytest.Entry("c2", 1, paytest.Win("u1", 0, 0)),
			paytest.Entry("c1", 2, paytest.Win("u3", 9, 0)),
		)
		if posted.New != 5 || len(posted.Settled) != 5 || len(posted.Dead) != 0 {
			t.Fatalf("%+v", posted)
		}
		first := posting.Settlement{
			Campaign: "c1", Entry: rain.EntryRef{Campaign: "c1", ID: "1-0"}, Claim: "c1-0", User: "u1", Packet: 0,
			Drop: "0.0", Amount: 10,
			Balance: 22, Total: 15, WonAt: 1, New: true,
		}
		if posted.Settled[0] != first {
			t.Errorf("got  %+v\nwant %+v", posted.Settled[0], first)
		}
		b.WantBalance(t, booking.EscrowAccount("c1"), 64)
		b.WantBalance(t, booking.EscrowAccount("c2"), 63)
		b.WantBalance(t, booking.UserAccount("u1"), 22)
		b.WantBalance(t, booking.UserAccount("u2"), 20)
		packets, amount, err := b.Paid(t.Context(), "c1")
		if packets != 4 || amount != 36 || err != nil {
			t.Error(packets, amount, err)
		}
		if packets, amount, err := b.Paid(t.Context(), "nix"); packets != 0 || amount != 0 || err != nil {
			t.Error(packets, amount, err)
		}
		// All entries of a campaign are one transaction: the escrow's line and one for each player.
		testenv.Equal(t, b.Count(t,
			"SELECT COUNT(*) FROM entry e JOIN txn t ON t.id = e.txn_id WHERE t.idem_key = 'pay:c1.0.1-0:0'"), 4,
			"the transaction has lines")
		testenv.Equal(t, b.Count(t, "SELECT COUNT(*) FROM txn WHERE kind = 'pay'"), 2, "transactions pay two campaigns")
	})
}

// TestNobodySaysWhatAPacketHolds: an amount in a win or a reclaim is ignored.
func TestNobodySaysWhatAPacketHolds(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("u1", 0, 99), paytest.Win("u2", 1, -5),
			paytest.Win("u3", 2, 1<<60)))
		b.CloseCampaign(t, "c1")
		rest := paytest.ReclaimEntry(0, 2, rain.Range{First: 3, Last: 9})
		rest.Reclaim.Amount = 99
		b.MustPost(t, rest)
		for _, user := range []string{"u1", "u2", "u3"} {
			b.WantBalance(t, booking.UserAccount(user), 10)
		}
		b.WantBalance(t, booking.SponsorAccount("acme"), 70)
	})
}

func TestPostingAgainPaysOnce(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 68, Packets: 6, Split: rain.List,
			Amounts: paytest.Amounts(10, 20, 30, 1, 2, 5)})
		one, two := paytest.Entry("c1", 1, paytest.Win("u1", 0, 10), paytest.Win("u2", 1, 20)),
			paytest.Entry("c1", 2, paytest.Win("u1", 2, 30))
		for i, try := range []struct {
			entries []rain.Entry
			fresh   int
		}{
			{[]rain.Entry{one, one}, 2},           // twice in one batch
			{[]rain.Entry{one}, 0},                // again
			{[]rain.Entry{two, one}, 1},           // half of it new
			{[]rain.Entry{one, two, one, two}, 0}, // all of it old
			{nil, 0},
			// a claim that comes in another entry too
			{[]rain.Entry{paytest.Entry("c1", 3, paytest.Win("u2", 1, 20), paytest.Win("u3", 3, 1))}, 1},
			// an entry that has grown
			{[]rain.Entry{paytest.Entry("c1", 1, paytest.Win("u1", 0, 10), paytest.Win("u2", 1, 20),
				paytest.Win("u4", 4, 2))}, 1},
			// one whose first win is new, and the others are not
			{[]rain.Entry{paytest.Entry("c1", 4, paytest.Win("u5", 5, 5), paytest.Win("u2", 1, 20))}, 1},
		} {
			posted := b.MustPost(t, try.entries...)
			wins := 0
			for _, e := range try.entries {
				wins += len(e.Wins)
			}
			if posted.New != try.fresh || len(posted.Settled) != wins || len(posted.Dead) != 0 {
				t.Errorf("try %d: %d new, %d settled of %d, dead %v", i, posted.New, len(posted.Settled), wins,
					posted.Dead)
			}
			for _, s := range posted.Settled {
				if balance, _ := b.UserBalance(t.Context(), s.User); s.Balance != balance {
					t.Errorf("try %d reports for %s a balance of %d, and it is %d", i, s.User, s.Balance, balance)
				}
			}
			b.CheckBooks(t)
		}
		b.WantBalance(t, booking.UserAccount("u1"), 40)
		b.WantBalance(t, booking.UserAccount("u2"), 20)
		b.WantBalance(t, booking.EscrowAccount("c1"), 0)
	})
}

// TestContradictionsDoNotBlockTheRest puts every kind of invalid win between two valid ones.
func TestContradictionsDoNotBlockTheRest(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10, Shards: 2})
		user := paytest.Home("u", 0, 2)
		b.MustPost(t, paytest.Entry("c1", 1, paytest.Win(user, 0, 10)))
		of := func(user string, packet int, drop string) rain.Win {
			return rain.Win{User: user, Packet: packet, Drop: drop}
		}
		bad := map[string]rain.Entry{
			"another player":   paytest.Entry("c1", 2, paytest.Win(paytest.Home("thief", 0, 2), 0, 10)),
			"unknown campaign": paytest.Entry("nix", 4, paytest.Win(user, 1, 1)),
			"odd campaign":     paytest.Entry(strings.Repeat("c1 ", 40), 5, paytest.Win(user, 1, 1)),
			"no such packet":   paytest.Entry("c1", 6, of(user, 10, "0.1")),
			"negative packet":  paytest.Entry("c1", 7, of(user, -1, "0.1")),
			"huge packet":      paytest.Entry("c1", 8, of(user, 1<<40, "0.1")),
			"no user":          paytest.Entry("c1", 12, paytest.Win("", 1, 1)),
			"long user":        paytest.Entry("c1", 13, paytest.Win(strings.Repeat("u", 200), 1, 1)),
			"odd user":         paytest.Entry("c1", 14, paytest.Win("u\x00", 1, 1)),
			"odd drop":         paytest.Entry("c1", 15, of(user, 1, strings.Repeat("x", 99))),
			"no such shard":    paytest.ShardEntry("c1", 2, 1, paytest.Win(user, 1, 1)),
			"negative shard":   paytest.ShardEntry("c1", -1, 1, paytest.Win(user, 1, 1)),
			"another shard":    paytest.ShardEntry("c1", 1, 1, paytest.Win(user, 1, 1)),
			"odd id": paytest.Seal(rain.Entry{Ref: rain.EntryRef{Campaign: "c1", ID: "yesterday"},
				Wins: []rain.Win{paytest.Win(user, 1, 1)}}),
			"another id for the same": paytest.Seal(rain.Entry{Ref: rain.EntryRef{Campaign: "c1", ID: "01-0"},
				Wins: []rain.Win{paytest.Win(user, 1, 1)}}),
			"no seal": {Ref: rain.EntryRef{Campaign: "c1", ID: "16-0"},
				Wins: []rain.Win{paytest.Win(user, 1, 1)}},
			"a reclaim of an open campaign": paytest.ReclaimEntry(0, 17, rain.Range{First: 1, Last: 2}),
		}
		entries := []rain.Entry{paytest.Entry("c1", 100, paytest.Win(paytest.Home("good1", 0, 2), 8, 1))}
		for _, e := range bad {
			entries = append(entries, e)
		}
		entries = append(entries, paytest.Entry("c1", 101, paytest.Win(paytest.Home("good2", 0, 2), 9, 2)))
		for try := range 2 {
			posted := b.MustPost(t, entries...)
			if len(posted.Settled) != 2 {
				t.Errorf("try %d: settled %+v", try, posted.Settled)
			}
			if want := len(bad) * (1 - try); len(posted.Dead) != want {
				t.Errorf("try %d: %d new dead letters, want %d", try, len(posted.Dead), want)
			}
		}
		list, _, err := b.ListDeadLetters(t.Context(), "", 100)
		if err != nil || len(list) != len(bad) {
			t.Fatalf("%d dead letters of %d, %v", len(list), len(bad), err)
		}
		ofCampaign, wins := int64(0), int64(0)
		for _, d := range list {
			if d.Campaign == "c1" {
				ofCampaign++
				if d.Kind == posting.LetterPay {
					wins++
				}
			}
			if d.Reason == "" || d.Claim == "" || d.CreatedAt == 0 {
				t.Errorf("%+v", d)
			}
			testenv.WantErr(t, testenv.Err(b.Retry(t.Context(), d.Claim)), ledger.ErrStillDead,
				fmt.Sprintf("retry of %s", d.Claim))
		}
		if letters, paying, err := b.Dead(t.Context(), "c1"); err != nil || letters != ofCampaign || paying != wins ||
			wins == 0 || wins == letters {
			t.Errorf("the campaign has %d dead letters, %d of them wins (%v), want %d, %d", letters, paying, err,
				ofCampaign, wins)
		}
		if letters, paying, err := b.Dead(t.Context(), "another"); err != nil || letters != 0 || paying != 0 {
			t.Errorf("another campaign: %d, %d, %v", letters, paying, err)
		}
		b.WantBalance(t, booking.EscrowAccount("c1"), 70)
	})
}

// TestTheEscrowIsTheLimit: even if the books are wrong, a campaign pays at most its escrow.
func TestTheEscrowIsTheLimit(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 150, Packets: 3, Split: rain.List,
			Amounts: paytest.Amounts(60, 60, 30)})
		b.OpenCampaign(t, "c2", rain.Spec{Budget: 100, Packets: 1})
		away := []booking.Txn{booking.Move(booking.KindFund, "away", booking.EscrowAccount("c1"), booking.World, 60)}
		testenv.Must(t, b.InTx(t, away))
		posted := b.MustPost(t,
			paytest.Entry("c1", 1, paytest.Win("u1", 0, 0), paytest.Win("u2", 1, 0), paytest.Win("u3", 2, 0)),
			paytest.Entry("c2", 1, paytest.Win("u1", 0, 0)),
		)
		if posted.New != 3 || len(posted.Dead) != 1 || posted.Dead[0].Claim != "c1-1" || posted.Dead[0].Amount != 60 {
			t.Errorf("%+v", posted)
		}
		b.WantBalance(t, booking.EscrowAccount("c1"), 0)
		b.WantBalance(t, booking.UserAccount("u2"), 0)
		b.WantBalance(t, booking.UserAccount("u3"), 30)
		b.CheckBooks(t)

		// After the escrow has the money, an operator can retry the dead letter.
		testenv.WantErr(t, testenv.Err(b.Retry(t.Context(), "c1-1")), ledger.ErrStillDead)
		b.GiveEscrow(t, "c1", 60)
		settled, err := b.Retry(t.Context(), "c1-1")
		if err != nil || len(settled) != 1 || settled[0].User != "u2" || settled[0].Balance != 60 || !settled[0].New {
			t.Errorf("%+v, %v", settled, err)
		}
		testenv.WantErr(t, testenv.Err(b.Retry(t.Context(), "c1-1")), ledger.ErrUnknownClaim)
		testenv.WantErr(t, testenv.Err(b.Retry(t.Context(), "c1-7")), ledger.ErrUnknownClaim)
		// A copy after the retry neither pays again nor becomes a dead letter again.
		if posted := b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("u2", 1, 60))); posted.New != 0 ||
			len(posted.Dead) != 0 {
			t.Errorf("%+v", posted)
		}
		b.WantBalance(t, booking.UserAccount("u2"), 60)
	})
}

// TestACarefulPostingIsNotStale: while a worker waits for the escrow's lock, another one pays the same win. The lower
// escrow must not make the win unpayable.
func TestACarefulPostingIsNotStale(t *testing.T) {
	b := paytest.OnMySQL(t)
	ctx := t.Context()
	b.OpenCampaign(t, "c1", rain.Spec{Budget: 20, Packets: 2})
	b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("u1", 0, 10)))
	last := paytest.Entry("c1", 2, paytest.Win("u1", 1, 10))
	written, commit := make(chan struct{}), make(chan struct{})
	errs := make(chan error, 2)
	go func() {
		errs <- b.DB.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
			other, err := b.ReadBatch(ctx, tx, []rain.Entry{last}, false)
			if err != nil {
				return err
			}
			other.Classify(last)
			_, err = b.Write(ctx, tx, other)
			close(written)
			<-commit
			return err
		})
	}()
	<-written
	var careful posting.Batch
	go func() {
		errs <- b.DB.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
			careful, err = b.ReadBatch(ctx, tx, []rain.Entry{last}, true)
			return err
		})
	}()
	testenv.Eventually(t, 10*time.Second, "the second worker waits for the first", func() bool {
		<-time.After(150 * time.Millisecond) // InnoDB shows an old snapshot to frequent reads
		return b.Count(t, "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'") > 0
	})
	close(commit)
	for range 2 {
		testenv.Must(t, <-errs)
	}
	careful.Classify(last)
	if len(careful.Letters()) > 0 || len(careful.Settled()) != 1 || careful.Settled()[0].New {
		t.Errorf("dead %+v, settled %+v", careful.Letters(), careful.Settled())
	}
}
