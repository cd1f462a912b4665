package ledger

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/chain"
	"redrain/rain"
)

// Sponsors reads sponsors' balances and books their deposits.
type Sponsors struct {
	db    *sqldb.DB
	clock rain.Clock
}

// maxReference is the length limit of a deposit's reference, in bytes.
const maxReference = 200

// Deposit books money from outside and returns the sponsor's new balance. It is idempotent by the reference, which is
// unique for each sponsor. A second deposit with it moves nothing, and fails with ErrReferenceReused if the amount
// differs. For 24 hours it returns the balance that the first one returned, then the present one.
func (s *Sponsors) Deposit(ctx context.Context, sponsor, reference string,
	amount rain.Money) (balance rain.Money, err error) {
	if err := rain.CheckSponsor(sponsor); err != nil {
		return 0, fmt.Errorf("sponsor %q: %w", sponsor, err)
	}
	if amount < 1 || amount > rain.MaxBudget {
		return 0, fmt.Errorf("deposit %d: %w", amount, ErrInvalidAmount)
	}
	if reference == "" || len(reference) > maxReference {
		return 0, ErrInvalidReference
	}
	deposit := booking.Move(booking.KindDeposit, "deposit:"+sponsor+":"+reference, booking.World,
		booking.SponsorAccount(sponsor), amount)
	err = s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		now := s.clock()
		row := Deposit{Sponsor: sponsor, Reference: reference, Amount: amount, At: now, actor: auditActor(ctx)}
		var paper chain.Content
		paper.Add(sponsor, reference, amount, row.actor, now)
		deposit.Papers = paper.Sum()
		booked, err := booking.BookOnce(ctx, tx, now, deposit, func(b booking.Booked) error {
			row.txn = b.IDs[deposit.Key]
			return depositTable.Insert(ctx, tx, sqldb.Merge{}, row)
		})
		if errors.Is(err, booking.ErrKeyReused) {
			return fmt.Errorf("deposit %q: %w", reference, ErrReferenceReused)
		}
		if err == nil && !booked {
			var first []byte
			if first, err = recall(ctx, tx, deposit.Key, now); first != nil {
				n, err := strconv.ParseInt(string(first), 10, 64)
				balance = rain.Money(n)
				return err
			}
		}
		if err == nil {
			balance, _, err = booking.BalanceOf(ctx, tx, booking.SponsorAccount(sponsor))
		}
		if err != nil || !booked {
			return err
		}
		if err := remember(ctx, tx, deposit.Key, strconv.AppendInt(nil, int64(balance), 10), now); err != nil {
			return err
		}
		return auditChange(ctx, tx, now, balanceState(sponsor, balance-amount), balanceState(sponsor, balance))
	})
	return balance, err
}

func balanceState(sponsor string, balance rain.Money) change {
	return change{target: "sponsor:" + sponsor, state: map[string]any{"balance": balance}}
}

// SponsorBalance returns a sponsor's unspent money, or ErrUnknownSponsor if the sponsor has never deposited.
func (s *Sponsors) SponsorBalance(ctx context.Context, sponsor string) (rain.Money, error) {
	balance, found, err := booking.BalanceOf(ctx, s.db, booking.SponsorAccount(sponsor))
	if err == nil && !found {
		err = fmt.Errorf("%q: %w", sponsor, ErrUnknownSponsor)
	}
	return balance, err
}

// Sponsor is a sponsor with their unspent money.
type Sponsor struct {
	ID      string     `json:"sponsor"`
	Balance rain.Money `json:"balance"`
}

// ListSponsors lists the sponsors with a deposit by their ids. "" is the first cursor, and next on the last page.
func (s *Sponsors) ListSponsors(ctx context.Context, after string, limit int) (list []Sponsor, next string, err error) {
	first := booking.SponsorAccount("").ID()
	if after != "" && !strings.HasPrefix(after, first) {
		return nil, "", ErrBadCursor
	}
	var where sqldb.Where
	where.And("account_id > ? AND account_id < ?", first, booking.KindSponsor+";")
	list, next, err = sponsorTable.ListPage(ctx, s.db, where, "account_id", after, limit)
	return list, next, sqldb.Wrap(err, "list sponsors")
}

var sponsorTable = sqldb.NewTable("balance", func(one *Sponsor) []any {
	return []any{"account_id", sqldb.Via(func() string { return booking.SponsorAccount(one.ID).ID() },
		func(account string) error {
			one.ID = strings.TrimPrefix(account, booking.SponsorAccount("").ID())
			return nil
		}), "amount", &one.Balance}
})
