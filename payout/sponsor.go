package payout

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// maxReference is the length limit of a deposit's reference, in bytes.
const maxReference = 200

// Deposit brings money in from outside and returns the sponsor's balance. It is idempotent by the reference, which
// belongs to the sponsor: a second deposit with it moves nothing, and is ErrReferenceReused where the amount differs.
func (l *Ledger) Deposit(ctx context.Context, sponsor, reference string, amount rain.Money) (balance rain.Money,
	err error) {
	if err := rain.CheckSponsor(sponsor); err != nil {
		return 0, fmt.Errorf("sponsor %q: %w", sponsor, err)
	}
	if amount < 1 || amount > rain.MaxBudget {
		return 0, fmt.Errorf("deposit of %d: %w", amount, ErrInvalidAmount)
	}
	if reference == "" || len(reference) > maxReference {
		return 0, ErrInvalidReference
	}
	deposit := move(kindDeposit, "deposit:"+sponsor+":"+reference, world, sponsorAccount(sponsor), amount)
	err = l.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		var before int64
		done, err := tx.First(ctx, []any{&before},
			"SELECT e.amount FROM txn t JOIN entry e ON e.txn_id = t.id WHERE t.idem_key = ? AND e.amount > 0",
			deposit.key)
		switch {
		case err != nil:
			return err
		case done && rain.Money(before) != amount:
			return fmt.Errorf("deposit %q: %w", reference, ErrReferenceReused)
		case done:
			balance, _, err = balanceOf(ctx, tx, sponsorAccount(sponsor))
			return err
		}
		b, err := l.book(ctx, tx, []txn{deposit}, nil)
		if err != nil {
			return err
		}
		balance, _ = b.moves.balance(sponsorAccount(sponsor))
		return l.auditChange(ctx, tx, balanceState(sponsor, balance-amount), balanceState(sponsor, balance))
	})
	return balance, err
}

// SponsorBalance is what a sponsor can still give to campaigns; ErrUnknownSponsor for one who has never deposited.
func (l *Ledger) SponsorBalance(ctx context.Context, sponsor string) (rain.Money, error) {
	balance, found, err := balanceOf(ctx, l.db, sponsorAccount(sponsor))
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

// Sponsors lists everybody who has ever deposited, in the order of their ids. after is the cursor, "" begins; next
// is empty on the last page.
func (l *Ledger) Sponsors(ctx context.Context, after string, limit int) (list []Sponsor, next string, err error) {
	if after != "" && rain.CheckSponsor(after) != nil {
		return nil, "", ErrBadCursor
	}
	first := sponsorAccount("").id()
	const beyond = kindSponsor + ";" // the sign after the colon: behind every sponsor's account
	list = []Sponsor{}
	err = l.db.Each(ctx, func(scan sqldb.Scan) error {
		var id string
		var balance int64
		err := scan(&id, &balance)
		list = append(list, Sponsor{ID: strings.TrimPrefix(id, first), Balance: rain.Money(balance)})
		return err
	}, "SELECT account_id, amount FROM balance WHERE account_id > ? AND account_id < ? ORDER BY account_id LIMIT ?",
		sponsorAccount(after).id(), beyond, limit+1)
	if err != nil {
		return nil, "", fmt.Errorf("listing sponsors: %w", err)
	}
	if len(list) > limit {
		list = list[:limit]
		next = list[limit-1].ID
	}
	return list, next, nil
}

// Cleared tells whether a campaign's escrow holds nothing any more but what its dead letters wait for: every packet
// is paid or back at the sponsor. Only the ledger can say so; a Redis that has forgotten looks just as empty.
func (l *Ledger) Cleared(ctx context.Context, campaign string) (bool, error) {
	held, dead, err := l.held(ctx, campaign)
	return err == nil && held <= dead, err
}

// Emptied is Cleared without the allowance for dead letters: the escrow holds nothing.
func (l *Ledger) Emptied(ctx context.Context, campaign string) (bool, error) {
	held, _, err := l.held(ctx, campaign)
	return err == nil && held == 0, err
}

// held is what a campaign's escrow holds, and what its dead letters ask for.
func (l *Ledger) held(ctx context.Context, campaign string) (held, dead int64, err error) {
	err = l.db.View(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.First(ctx, []any{&held}, "SELECT amount FROM balance WHERE account_id = ?",
			escrowAccount(campaign).id())
		if err != nil {
			return err
		}
		_, err = tx.First(ctx, []any{&dead}, "SELECT COALESCE(SUM(amount), 0) "+heldLetters, campaign)
		return err
	})
	if err != nil {
		return 0, 0, fmt.Errorf("what the escrow of campaign %s holds: %w", campaign, err)
	}
	return held, dead, nil
}

// UserBalance is what a player has been paid and not withdrawn; 0 for one who has never won.
func (l *Ledger) UserBalance(ctx context.Context, user string) (rain.Money, error) {
	balance, _, err := balanceOf(ctx, l.db, userAccount(user))
	return balance, err
}

// UserBalances is UserBalance of many players. It has an element for each of them.
func (l *Ledger) UserBalances(ctx context.Context, users []string) (map[string]rain.Money, error) {
	return userBalances(ctx, l.db, users)
}

func balanceOf(ctx context.Context, q sqldb.Querier, a account) (balance rain.Money, found bool, err error) {
	found, err = q.First(ctx, []any{(*int64)(&balance)}, "SELECT amount FROM balance WHERE account_id = ?", a.id())
	if err != nil {
		return 0, false, fmt.Errorf("balance of %s: %w", a.id(), err)
	}
	return balance, found, nil
}

func userBalances(ctx context.Context, q sqldb.Querier, users []string) (map[string]rain.Money, error) {
	balances := make(map[string]rain.Money, len(users))
	for chunk := range slices.Chunk(users, sqldb.Chunk) {
		ids := make([]any, len(chunk))
		for i, u := range chunk {
			ids[i], balances[u] = userAccount(u).id(), 0
		}
		err := q.Each(ctx, func(scan sqldb.Scan) error {
			var id string
			var amount int64
			err := scan(&id, &amount)
			balances[id[len(kindUser)+1:]] = rain.Money(amount)
			return err
		}, "SELECT account_id, amount FROM balance WHERE account_id IN "+sqldb.Marks(len(ids)), ids...)
		if err != nil {
			return nil, fmt.Errorf("balances of players: %w", err)
		}
	}
	return balances, nil
}
