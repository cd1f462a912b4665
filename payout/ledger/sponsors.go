package ledger

import (
	"context"
	"fmt"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// Sponsors are who pays for campaigns.
type Sponsors struct {
	db    *sqldb.DB
	clock rain.Clock
}

// maxReference is the length limit of a deposit's reference, in bytes.
const maxReference = 200

// Deposit brings money in from outside and returns the sponsor's balance. It is idempotent by the reference, which
// belongs to the sponsor: a second deposit with it moves nothing, and is ErrReferenceReused where the amount differs.
func (s *Sponsors) Deposit(ctx context.Context, sponsor, reference string,
	amount rain.Money) (balance rain.Money, err error) {
	if err := rain.CheckSponsor(sponsor); err != nil {
		return 0, fmt.Errorf("sponsor %q: %w", sponsor, err)
	}
	if amount < 1 || amount > rain.MaxBudget {
		return 0, fmt.Errorf("deposit of %d: %w", amount, ErrInvalidAmount)
	}
	if reference == "" || len(reference) > maxReference {
		return 0, ErrInvalidReference
	}
	deposit := booking.Move(booking.KindDeposit, "deposit:"+sponsor+":"+reference, booking.World,
		booking.SponsorAccount(sponsor), amount)
	err = s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		var before int64
		done, err := tx.First(ctx, []any{&before},
			"SELECT e.amount FROM txn t JOIN entry e ON e.txn_id = t.id WHERE t.idem_key = ? AND e.amount > 0",
			deposit.Key)
		switch {
		case err != nil:
			return err
		case done && rain.Money(before) != amount:
			return fmt.Errorf("deposit %q: %w", reference, ErrReferenceReused)
		case done:
			balance, _, err = booking.BalanceOf(ctx, tx, booking.SponsorAccount(sponsor))
			return err
		}
		b, err := booking.Book(ctx, tx, s.clock(), []booking.Txn{deposit}, nil)
		if err != nil {
			return err
		}
		balance, _ = b.Moves.Balance(booking.SponsorAccount(sponsor))
		return auditChange(ctx, tx, s.clock(), balanceState(sponsor, balance-amount), balanceState(sponsor, balance))
	})
	return balance, err
}

// SponsorBalance is what a sponsor can still give to campaigns; ErrUnknownSponsor for one who has never deposited.
func (s *Sponsors) SponsorBalance(ctx context.Context, sponsor string) (rain.Money, error) {
	balance, found, err := booking.BalanceOf(ctx, s.db, booking.SponsorAccount(sponsor))
	if err == nil && !found {
		err = fmt.Errorf("%q: %w", sponsor, ErrUnknownSponsor)
	}
	return balance, err
}

// Sponsor is somebody who pays for campaigns, and what they can still give.
type Sponsor struct {
	ID      string
	Balance rain.Money
}

// ListSponsors lists everybody who has ever deposited, in the order of their ids. after is the cursor, "" begins; next
// is empty on the last page.
func (s *Sponsors) ListSponsors(ctx context.Context, after string, limit int) (list []Sponsor, next string, err error) {
	if after != "" && rain.CheckSponsor(after) != nil {
		return nil, "", ErrBadCursor
	}
	first := booking.SponsorAccount("").ID()
	const beyond = booking.KindSponsor + ";" // the sign after the colon: behind every sponsor's account
	list = []Sponsor{}
	err = s.db.Each(ctx, func(scan sqldb.Scan) error {
		var id string
		var balance int64
		err := scan(&id, &balance)
		list = append(list, Sponsor{ID: strings.TrimPrefix(id, first), Balance: rain.Money(balance)})
		return err
	}, "SELECT account_id, amount FROM balance WHERE account_id > ? AND account_id < ? ORDER BY account_id LIMIT ?",
		booking.SponsorAccount(after).ID(), beyond, limit+1)
	if err != nil {
		return nil, "", fmt.Errorf("listing sponsors: %w", err)
	}
	if len(list) > limit {
		list = list[:limit]
		next = list[limit-1].ID
	}
	return list, next, nil
}
