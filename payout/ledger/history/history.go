package history

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/chain"
)

// Kind is what a history is of.
type Kind string

// The kinds.
const (
	Campaign   Kind = "campaign"
	Withdrawal Kind = "withdrawal"
	Letter     Kind = "dead letter" // by its fingerprint
	Approval   Kind = "order"
	Archive    Kind = "archive" // what has left the books, and the steps in which it did
	Held       Kind = "held win"
	Sanction   Kind = "player" // what operators have done about one
	Verdict    Kind = "verdicts about"
	List       Kind = "list" // of players or addresses; its members are in its digest
)

// Kinds are all of them.
var Kinds = []Kind{Campaign, Withdrawal, Letter, Approval, Archive, Sanction, Verdict, List, Held}

// part is a table with rows of a thing: the others' rows belong to those of the first.
type part struct {
	table, id string
	order     string   // of the rows of one thing
	columns   []string // those that only the ledger's own doing changes
}

var parts = map[Kind][]part{
	Campaign: {
		{"campaign", "id", "id", []string{"status", "created_at", "expires_at", "revision", "drained"}},
		{"rain", "campaign_id", "ordinal", []string{"ordinal", "id", "starts_at", "duration_ms", "drops_per_second",
			"fall_ms", "decoy_percent", "pacing", "odds", "beat_ms", "odds_record", "first_wave", "seed",
			"stopped_at"}},
	},
	Withdrawal: {
		// Not attempts, next_at and last_error: they say when it is tried again, and each try writes them.
		{"withdrawal", "id", "id", []string{"user_id", "amount", "state", "receiver", "dead", "reference", "action_url",
			"action_data", "action_until", "created_at", "sent_at", "waits_since", "finished_at", "txn_id", "paid_id",
			"return_id"}},
	},
	Letter: {
		{"dead_letter", "fingerprint", "id", []string{"claim", "source", "kind", "campaign_id", "shard", "packet",
			"user_id", "amount", "won_at", "entry_seq", "reason", "payload", "created_at", "resolved_at"}},
	},
	Approval: {
		{"approval", "id", "id", []string{"action", "target", "amount", "reference", "letter", "seen", "reason",
			"asked_by", "asked_id", "asked_at", "expires_at", "state", "decided_by", "decided_id", "decided_at",
			"decision"}},
	},
	Archive: {
		{"archive", "id", "id", []string{"file", "links", "payouts", "amount_paid", "packets_back", "amount_back",
			"actor", "began_at", "finished_at"}},
		{"archive_step", "archive", "number", []string{"number", "at", "txn_id", "links", "digest", "payouts",
			"amount_paid", "packets_back", "amount_back"}},
	},
	Sanction: {
		{"sanction", "user_id", "number", []string{"number", "act", "reason", "given_by", "given_id", "given_at"}},
	},
	Verdict: {
		{"verdict", "user_id", "number", []string{"number", "verdict", "score", "reasons", "given_by", "given_at"}},
	},
	List: {
		{"player_list", "name", "name", []string{"kind", "purpose", "members", "revision", "busy_until", "created_at",
			"changed_at", "changed_by", "digest"}},
	},
	Held: {
		{"held", "claim", "claim", []string{"campaign_id", "packet", "user_id", "amount", "won_at", "drop_id",
			"verdict", "score", "reasons", "held_at", "hold_id", "state", "decided_by", "decision", "decided_at",
			"release_id", "confirm_id"}},
	},
}

// Note adds a line to the histories of things that tx has changed, as they are now. One that is as it was before has no
// other line.
func Note(ctx context.Context, tx *sqldb.Tx, now int64, kind Kind, ids ...string) error {
	for some := range slices.Chunk(ids, sqldb.Chunk) {
		if err := note(ctx, tx, now, kind, some); err != nil {
			return fmt.Errorf("the history of %s %s: %w", kind, strings.Join(some, ", "), err)
		}
	}
	return nil
}

func note(ctx context.Context, tx *sqldb.Tx, now int64, kind Kind, ids []string) error {
	digests, err := Digests(ctx, tx, kind, ids)
	if err != nil {
		return err
	}
	newest, err := Newest(ctx, tx, kind, ids)
	if err != nil {
		return err
	}
	var rows [][]any
	for _, id := range slices.Sorted(maps.Keys(digests)) {
		if was := newest[id]; was.Digest != digests[id] {
			rows = append(rows, []any{now, string(kind), id, was.Version + 1, digests[id]})
		}
	}
	return chain.Append(ctx, tx, chain.Histories, rows...)
}

// NoteMade begins the history of a thing that tx has just made, whose row nobody else can make or remove until tx ends,
// or goes on with it after its removal. By its history there must be no such thing: else somebody has removed its row
// by hand, and nothing is noted, so that the proof names it.
func NoteMade(ctx context.Context, tx *sqldb.Tx, now int64, kind Kind, id string) error {
	newest, err := Newest(ctx, tx, kind, []string{id})
	if err != nil {
		return fmt.Errorf("the history of %s %s: %w", kind, id, err)
	}
	if newest[id].Digest != "" {
		return nil
	}
	return Note(ctx, tx, now, kind, id)
}

// NoteGone adds a line to the history of a thing that tx has removed. One that is made anew goes on with it.
func NoteGone(ctx context.Context, tx *sqldb.Tx, now int64, kind Kind, id string) error {
	newest, err := Newest(ctx, tx, kind, []string{id})
	if err != nil {
		return fmt.Errorf("the history of %s %s: %w", kind, id, err)
	}
	return chain.Append(ctx, tx, chain.Histories, []any{now, string(kind), id, newest[id].Version + 1, ""})
}

// Digests are the hashes of things as they are now. One that does not exist is missing in the answer.
func Digests(ctx context.Context, q sqldb.Querier, kind Kind, ids []string) (map[string]string, error) {
	contents := make(map[string]*chain.Content, len(ids))
	for n, p := range parts[kind] {
		values := make([]sql.NullString, len(p.columns))
		var id string
		dest := []any{&id}
		for i := range values {
			dest = append(dest, &values[i])
		}
		err := q.Each(ctx, func(scan sqldb.Scan) error {
			if err := scan(dest...); err != nil {
				return err
			}
			if n == 0 && contents[id] == nil { // of a player there are many
				contents[id] = &chain.Content{}
			}
			c := contents[id]
			if c == nil {
				return nil // a row of nothing
			}
			c.Text(p.table)
			for _, value := range values {
				if value.Valid {
					c.Text(value.String)
				} else {
					c.Null()
				}
			}
			return nil
		}, "SELECT "+p.id+", "+strings.Join(p.columns, ", ")+" FROM "+p.table+" WHERE "+p.id+" IN "+
			sqldb.Marks(len(ids))+" ORDER BY "+p.id+", "+p.order, sqldb.Args(ids)...)
		if err != nil {
			return nil, err
		}
	}
	digests := make(map[string]string, len(contents))
	for id, c := range contents {
		digests[id] = c.Sum().String()
	}
	return digests, nil
}

// Line is the newest line of a thing's history.
type Line struct {
	Version int64
	Digest  string // of the thing as it must be; "": it was removed
	Loose   bool   // it is not what was chained, or in no chain: somebody has added or changed it by hand
}

// Newest are the newest lines of histories. One without a history is missing in the answer.
func Newest(ctx context.Context, q sqldb.Querier, kind Kind, ids []string) (map[string]Line, error) {
	newest := make(map[string]Line, len(ids))
	values := make([]sql.NullString, len(chainedColumns))
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		var id string
		var l Line
		var link chainLink
		dest := []any{&id, &l.Version, &l.Digest, &link.stripe, &link.number, &link.hash, &link.before, &link.links}
		for i := range values {
			dest = append(dest, &values[i])
		}
		err := scan(dest...)
		l.Loose = !link.holds(chain.RecordContent(values))
		newest[id] = l
		return err
	}, newestLines+sqldb.Marks(len(ids))+
		" AND h.version = (SELECT MAX(n.version) FROM history n WHERE n.kind = h.kind AND n.thing = h.thing)",
		append([]any{string(kind)}, sqldb.Args(ids)...)...)
	return newest, err
}

// Next are queries for the ids of things after one, in order, at most so many: of all that is left of any of them.
func Next(kind Kind) []string {
	queries := []string{"SELECT DISTINCT thing FROM history WHERE kind = '" + string(kind) +
		"' AND thing > ? ORDER BY thing LIMIT ?"}
	for _, p := range parts[kind] {
		queries = append(queries, "SELECT DISTINCT "+p.id+" FROM "+p.table+
			" WHERE "+p.id+" > ? ORDER BY "+p.id+" LIMIT ?")
	}
	return queries
}
