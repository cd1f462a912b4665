package baseline

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"
	"github.com/redis/go-redis/v9"
)

//go:embed schema.sql
var schema string

// settler books the payouts of the list in Redis.
type settler struct {
	db    *sql.DB
	store *store
	log   *slog.Logger

	txn, lines, payout, balance *sql.Stmt
}

func openSettler(ctx context.Context, dsn string, s *store, log *slog.Logger) (*settler, error) {
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	db.SetMaxIdleConns(16) // the default of 2 would connect anew for most transactions
	st := &settler{db: db, store: s, log: log}
	if err := st.prepare(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return st, nil
}

func (st *settler) prepare(ctx context.Context) error {
	for statement := range strings.SplitSeq(strings.TrimSpace(schema), ";\n") {
		if _, err := st.db.ExecContext(ctx, strings.TrimSuffix(statement, ";")); err != nil {
			return fmt.Errorf("make the tables: %w", err)
		}
	}
	for to, query := range map[**sql.Stmt]string{
		&st.txn:   "INSERT INTO txn (idem_key, created_at) VALUES (?, ?)",
		&st.lines: "INSERT INTO entry (txn_id, line_no, account_id, amount) VALUES (?, 0, ?, ?), (?, 1, ?, ?)",
		&st.payout: "INSERT INTO payout (campaign_id, packet, user_id, amount, txn_id, settled_at) " +
			"VALUES (?, ?, ?, ?, ?, ?)",
		&st.balance: "INSERT INTO balance (account_id, amount) VALUES (?, ?) " +
			"ON DUPLICATE KEY UPDATE amount = amount + VALUES(amount)",
	} {
		var err error
		if *to, err = st.db.PrepareContext(ctx, query); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
	}
	return nil
}

func (st *settler) close() error { return st.db.Close() }

// run settles one payout after the other until ctx ends.
func (st *settler) run(ctx context.Context) {
	for ctx.Err() == nil {
		popped, err := st.store.rdb.BRPop(ctx, time.Second, st.store.payoutsKey()).Result()
		switch {
		case errors.Is(err, redis.Nil): // nothing came
		case err != nil:
			if ctx.Err() == nil {
				st.log.Warn("no payout", "err", err)
			}
		default:
			st.settle(popped[1])
		}
	}
}

// settle pays one payout, or puts it back. Its context never ends, so a payout that has begun is finished when the
// server stops. And a context that can end costs the driver a switch of goroutines with each statement.
func (st *settler) settle(record string) {
	ctx := context.Background()
	err := st.pay(ctx, record)
	if err == nil {
		return
	}
	st.log.Info("a payout goes back to the list", "err", err)
	if err := st.store.rdb.LPush(ctx, st.store.payoutsKey(), record).Err(); err != nil {
		st.log.Error("a payout is lost", "payout", record, "err", err)
	}
}

// pay is the transaction of one payout.
func (st *settler) pay(ctx context.Context, record string) (err error) {
	campaign, rest, _ := strings.Cut(record, " ")
	object, user, _ := strings.Cut(rest, " ") // as stock.go writes it, the object has no spaces
	var p packet
	if err := json.Unmarshal([]byte(object), &p); err != nil {
		return fmt.Errorf("payout %q: %w", record, err)
	}
	tx, err := st.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback()
		}
	}()
	now := time.Now().UnixMilli()
	added, err := tx.StmtContext(ctx, st.txn).ExecContext(ctx, fmt.Sprintf("pay:%s:%d", campaign, p.ID), now)
	if err != nil {
		return err
	}
	id, err := added.LastInsertId()
	if err != nil {
		return err
	}
	from, to := "escrow:"+campaign, "user:"+user
	for _, step := range []struct {
		*sql.Stmt
		args []any
	}{
		{st.lines, []any{id, from, -p.Amount, id, to, p.Amount}},
		{st.payout, []any{campaign, p.ID, user, p.Amount, id, now}},
		{st.balance, []any{to, p.Amount}},
		{st.balance, []any{from, -p.Amount}},
	} {
		if _, err := tx.StmtContext(ctx, step.Stmt).ExecContext(ctx, step.args...); err != nil {
			return err
		}
	}
	return tx.Commit()
}
