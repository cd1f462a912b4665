package ledger

import (
	"context"
	"fmt"
	"strconv"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
)

// A receiver of withdrawals must be confirmed before any is bound to it. The first one is confirmed automatically,
// later ones by a person, if operators have names. Until then unsent withdrawals wait, and sent ones stay with their
// receivers. If none was ever confirmed, LeaseDue binds unsent ones to its own receiver. The confirmed receiver is the
// newest audit record with the action of [ActProvider].

// maxTarget is the length limit of an order's or audit record's target, in bytes.
const maxTarget = 200

// providerName returns a receiver as orders and the audit name it. A long name ends in its hash.
func providerName(receiver string) string {
	if name := sqldb.Storable(receiver, maxTarget); name == receiver {
		return name
	}
	hash := booking.Digest([]byte(receiver))
	return sqldb.Storable(receiver, maxTarget-len(hash)-1) + " " + hash
}

// confirmed is the receiver for new withdrawals. The zero value: none was confirmed yet.
type confirmed struct {
	line     int64 // id of the audit record
	provider string
}

func confirmedProvider(ctx context.Context, q sqldb.Querier) (c confirmed, err error) {
	_, err = q.First(ctx, []any{&c.line, &c.provider}, "SELECT id, target FROM audit WHERE action = ? "+
		"ORDER BY id DESC LIMIT 1", string(ActProvider))
	return c, sqldb.Wrap(err, "read the confirmed receiver of withdrawals")
}

// ProviderStart is the state of a node's receiver at its start.
type ProviderStart struct {
	Before  string    // the receiver confirmed until then, if it is another one; else ""
	Pending *Approval // waits for a person, and the receiver gets no new withdrawal; nil: it is confirmed
}

// StartProvider confirms a node's receiver, or requests its confirmation. If no operator has a name, no person could
// confirm it, so it is confirmed at once.
func (s *Approvals) StartProvider(ctx context.Context, receiver string, named bool) (p ProviderStart, err error) {
	d := Deed{Act: ActProvider, Target: providerName(receiver)}
	err = s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		p = ProviderStart{}
		// Nodes that start together do this one after the other, and for one order.
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
		a, err := s.ask(ctx, d, targetState{seen: strconv.FormatInt(is.line, 10)}, by.stored())
		p.Pending = &a
		return err
	})
	if err != nil {
		return ProviderStart{}, fmt.Errorf("confirm the receiver of withdrawals: %w", err)
	}
	return p, nil
}

// confirmProvider writes the audit record that confirms a receiver.
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
