package server

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/server/config"
)

// Restored is a ledger that was restored from a backup, without a running server: see ledger.Restores.
type Restored struct {
	*ledger.Restores

	back *backends
}

// OpenRestored opens the ledger of this configuration. No server may be using its data directory.
func OpenRestored(ctx context.Context, cfg config.Config, log *slog.Logger) (_ *Restored, err error) {
	b := &backends{}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if err := b.openDir(&cfg); err != nil {
		return nil, err
	}
	if err := b.connectSQL(ctx, &cfg, log); err != nil {
		return nil, fmt.Errorf("mysql: %w", err)
	}
	now := func() int64 { return time.Now().UnixMilli() }
	return &Restored{ledger.New(b.sql, now, rain.NewAmountsCache()).Restores, b}, nil
}

// Close closes the database.
func (r *Restored) Close() { r.back.close() }

// Enter books the payments of a provider's statement that the ledger lacks, and writes a line for each. Payments
// unknown to the ledger are booked as made by receiver. Enter fails if any payment could not be booked.
func (r *Restored) Enter(ctx context.Context, statement io.Reader, receiver string, out io.Writer) error {
	payments, err := readPayments(statement, receiver)
	if err != nil {
		return fmt.Errorf("the statement: %w", err)
	}
	failed := 0
	for _, p := range payments {
		was, err := r.Restores.Enter(ctx, p)
		is := "entered; the ledger did not know it"
		switch {
		case err != nil:
			failed++
			is = "NOT ENTERED: " + err.Error()
		case was == ledger.WithdrawalPaid:
			is = "was paid already"
		case was != "":
			is = "entered; it was " + string(was)
		}
		if _, err := fmt.Fprintf(out, "%s  %s  %d  %s\n", p.Withdrawal, p.User, p.Amount, is); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d payments are not entered; settle each, and run this again before --end", failed,
			len(payments))
	}
	return nil
}

// paymentColumns are the names of a statement's columns that are read; it may have others.
var paymentColumns = []string{"withdrawal", "user", "amount", "reference"}

func readPayments(r io.Reader, receiver string) ([]ledger.Payment, error) {
	rows, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, errors.New("it is empty: the first line names the columns")
	}
	var at [4]int
	for i, name := range paymentColumns {
		if at[i] = slices.Index(rows[0], name); at[i] < 0 {
			return nil, fmt.Errorf("no column %q among %s", name, strings.Join(rows[0], ", "))
		}
	}
	payments := make([]ledger.Payment, 0, len(rows)-1)
	for i, row := range rows[1:] {
		amount, err := strconv.ParseInt(row[at[2]], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: the amount %q is not a whole number of minor units", i+2, row[at[2]])
		}
		payments = append(payments, ledger.Payment{Withdrawal: row[at[0]], User: row[at[1]],
			Amount: rain.Money(amount), Receiver: receiver, Reference: row[at[3]]})
	}
	return payments, nil
}
