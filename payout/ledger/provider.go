package ledger

import (
	"context"
	"fmt"
	"strconv"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
)

// The receiver of withdrawals is confirmed before any is bound to it: the first by itself, as there is no other, and
// each after it by a person, where one has a name. Until then withdrawals that nobody was asked for wait; those that
// were sent before stay with their receivers. The receiver that is confirmed is the newest line of the audit with the
// action of [ActProvider].

// maxTarget is the length of what an order or a line of the audit is about, in bytes.
const maxTarget = 200

// providerName is a receiver as orders and the audit have it. A long one ends in its hash, so that two that differ
// anywhere have two names.
func providerName(receiver string) string {
	if name := sqldb.Storable(receiver, maxTarget); name == receiver {
		return name
	}
	hash := booking.Digest([]byte(receiver))
	return sqldb.Storable(receiver, maxTarget-len(hash)-1) + " " + hash
}

// confirmed is the receiver that new withdrawals are bound to. The zero value: none was confirmed yet.
type confirmed struct {
	line     int64 // of the audit
	provider string
}

func confirmedProvider(ctx context.Context, q sqldb.Querier) (c confirmed, err error) {
	_, err = q.First(ctx, []any{&c.line, &c.provider}, "SELECT id, target FROM audit WHERE action = ? "+
		"ORDER BY id DESC LIMIT 1", string(ActProvider))
	return c, sqldb.Wrap(err, "looking which receiver of withdrawals is confirmed")
}

// mayBind tells whether a receiver can be asked for withdrawals that nobody was asked for.
func (s *Withdrawals) mayBind(ctx context.Context, receiver string) (bool, error) {
	is, err := confirmedProvider(ctx, s.db)
	return err == nil && (is.line == 0 || is.provider == providerName(receiver)), err
}

// ProviderStart is what has become of the receiver that a node was started with.
type ProviderStart struct {
	Before  string    // the one that was confirmed until then, where this is another; else ""
	Pending *Approval // it waits for a person, and nothing new is sent to it; nil: it is confirmed
}

// StartProvider has the receiver confirmed that a node was started with, or asks for it. Where nobody has a name of
// their own, nobody could confirm it, so it is confirmed by itself.
func (s *Approvals) StartProvider(ctx context.Context, receiver string, named bool) (p ProviderStart, err error) {
	d := Deed{Act: ActProvider, Target: providerName(receiver)}
	err = s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		p = ProviderStart{}
		// Nodes that start together ask one after the other, and for one order.
		if _, err := lockReceiver(ctx, tx, receiver); err != nil {
			return err
		}
		is, err := confirmedProvider(ctx, tx)
		if err != nil {
			return err
		}
		if is.provider == d.Target && is.line != 0 {
			return nil
		}
		p.Before = is.provider
		ctx = WithAudit(sqldb.Joined(ctx, s.db, tx), AuditRecord{Actor: byRedrain, Role: byRedrain})
		by := Person{Name: byRedrain, Reason: "a node was started with it; confirmed until now: " + is.provider}
		if is.line == 0 || !named {
			return s.confirmProvider(ctx, d.Target, by)
		}
		a, err := s.ask(ctx, d, looked{seen: strconv.FormatInt(is.line, 10)}, by.stored())
		p.Pending = &a
		return err
	})
	if err != nil {
		return ProviderStart{}, fmt.Errorf("the receiver of withdrawals: %w", err)
	}
	return p, nil
}

// lookProvider is how the confirmed receiver is: another one since makes an order void.
func lookProvider(ctx context.Context, q sqldb.Querier) (looked, error) {
	is, err := confirmedProvider(ctx, q)
	return looked{seen: strconv.FormatInt(is.line, 10)}, err
}

// confirmProvider writes the line of the audit that makes a receiver the confirmed one.
func (s *Approvals) confirmProvider(ctx context.Context, provider string, by Person) error {
	return s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		is, err := confirmedProvider(ctx, tx)
		if err != nil {
			return err
		}
		r := AuditRecord{Actor: by.Name, Role: "operator"}
		if asked, _ := ctx.Value(auditKey{}).(*AuditRecord); asked != nil {
			r = *asked
		}
		r.Action, r.Target = string(ActProvider), provider
		return auditChange(WithAudit(ctx, r), tx, s.clock(), change{state: map[string]any{"provider": is.provider}},
			change{state: map[string]any{"provider": provider}})
	})
}
