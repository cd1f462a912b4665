package chain

import (
	"context"
	"slices"

	"redrain/internal/sqldb"
)

// Linked is a row with its place in its chain.
type Linked struct {
	ID      int64 // of the row
	Stripe  int64
	Link    int64
	Content Hash // of what it says
	Hash    Hash // of the link

	// Of a transaction: of its kind, its key and its rest the content is the hash.
	Kind, Key string
	Rest      Hash
}

// withStubs puts what is left of links behind one, whose rows have left the books, among the rows of a stripe. Of both
// together it returns as many as a page has.
func withStubs(ctx context.Context, q sqldb.Querier, s Stripe, after int64, rows []row) ([]row, error) {
	stubs, err := sqldb.List(ctx, q, func(scan sqldb.Scan) (row, error) {
		r := row{stub: true}
		var content []byte
		err := scan(&r.link, &content, &r.hash, &r.name)
		if len(content) == len(r.content) {
			r.content = Hash(content)
		}
		return r, err
	}, "SELECT link, content, hash, archive FROM chain_stub WHERE book = ? AND stripe = ? AND link > ? "+
		"ORDER BY link LIMIT ?", s.Book, s.Number, after, rowsAtOnce)
	if err != nil || len(stubs) == 0 {
		return rows, err
	}
	all := slices.Concat(rows, stubs)
	slices.SortStableFunc(all, func(a, b row) int { return int(a.link - b.link) })
	return all[:min(len(all), rowsAtOnce)], nil
}

// TxnLinks are transactions as they are in the database, with their lines and papers, by their ids. One that does not
// exist, or belongs to no chain, is missing in the answer.
func TxnLinks(ctx context.Context, q sqldb.Querier, ids []int64) (map[int64]Linked, error) {
	txns, stripes, err := txnsByID(ctx, q, ids)
	if err != nil || len(txns) == 0 {
		return nil, err
	}
	rows, err := txnContents(ctx, q, txns)
	if err != nil {
		return nil, err
	}
	links := make(map[int64]Linked, len(rows))
	for _, r := range rows {
		links[r.id] = linkedOf(r, stripes[r.id])
	}
	return links, nil
}

// RecordLinks are the rows of a stripe of Audits, Events or Histories behind a link, at most so many, as they are in
// the database.
func RecordLinks(ctx context.Context, q sqldb.Querier, of string, stripe, after int64, limit int) ([]Linked, error) {
	at := slices.IndexFunc(books, func(b book) bool { return b.table == of })
	rows, err := books[at].read(ctx, q, stripe, after, limit)
	links := make([]Linked, len(rows))
	for i, r := range rows {
		links[i] = linkedOf(r, stripe)
	}
	return links, err
}

func linkedOf(r row, stripe int64) Linked {
	l := Linked{ID: r.id, Stripe: stripe, Link: r.link, Content: r.content}
	if r.kind != "" {
		l.Kind, l.Key, l.Rest = r.kind, r.name, r.rest
	}
	if len(r.hash) == len(l.Hash) {
		l.Hash = Hash(r.hash)
	}
	return l
}

// Step is what has left the books in one transaction, and what the chain and the history of its archive hold of it.
type Step struct {
	Archive string
	Number  int64 // from 1
	At      int64 // Unix ms
	Txn     int64 // the transaction that carries what the removed ones have done to balances; 0: none
	Links   int64 // that have left
	Digest  string
	// Of payments and reclaims.
	Payouts, AmountPaid, PacketsBack, AmountBack int64
}

// stepColumns are those that are a paper of the transaction that carries.
var stepColumns = []string{"archive", "number", "at", "links", "digest", "payouts", "amount_paid", "packets_back",
	"amount_back"}

// paper is the step as the chain of transactions holds it.
func (s *Step) paper() Hash {
	var c Content
	c.Text(s.Archive)
	c.Int(s.Number)
	c.Int(s.At)
	c.Int(s.Links)
	c.Text(s.Digest)
	for _, n := range []int64{s.Payouts, s.AmountPaid, s.PacketsBack, s.AmountBack} {
		c.Int(n)
	}
	return c.Sum()
}

// NewStep makes a step of links of one book. It sorts them.
func NewStep(book string, links []Linked, s Step) (Step, Hash) {
	slices.SortFunc(links, func(a, b Linked) int {
		if a.Stripe != b.Stripe {
			return int(a.Stripe - b.Stripe)
		}
		return int(a.Link - b.Link)
	})
	var c Content
	for _, l := range links {
		c.stub(book, l)
	}
	s.Links, s.Digest = int64(len(links)), c.Sum().String()
	paper := s.paper()
	return s, paper
}

func (c *Content) stub(book string, l Linked) {
	c.Text(book)
	c.Int(l.Stripe)
	c.Int(l.Link)
	c.Bytes(l.Content[:])
	c.Bytes(l.Hash[:])
}

// Leave writes a step, and what is left of its links.
func Leave(ctx context.Context, tx *sqldb.Tx, book string, links []Linked, s Step) error {
	err := tx.Insert(ctx, "archive_step", append(slices.Clone(stepColumns), "txn_id"),
		[][]any{{s.Archive, s.Number, s.At,
			s.Links, s.Digest, s.Payouts, s.AmountPaid, s.PacketsBack, s.AmountBack, s.Txn}}, sqldb.Merge{})
	if err != nil {
		return err
	}
	rows := make([][]any, len(links))
	for i, l := range links {
		rest := []byte{}
		if l.Kind != "" {
			rest = l.Rest[:]
		}
		rows[i] = []any{book, l.Stripe, l.Link, l.Content[:], l.Hash[:], l.Kind, l.Key, rest, s.Archive, s.Number}
	}
	return tx.Insert(ctx, "chain_stub", []string{"book", "stripe", "link", "content", "hash", "kind", "idem_key",
		"rest", "archive", "step"}, rows, sqldb.Merge{})
}

// Steps are the steps of an archive in their order.
func Steps(ctx context.Context, q sqldb.Querier, archive string) ([]Step, error) {
	return sqldb.List(ctx, q, func(scan sqldb.Scan) (s Step, err error) {
		err = scan(&s.Archive, &s.Number, &s.At, &s.Txn, &s.Links, &s.Digest, &s.Payouts, &s.AmountPaid, &s.PacketsBack,
			&s.AmountBack)
		return s, err
	}, "SELECT archive, number, at, txn_id, links, digest, payouts, amount_paid, packets_back, amount_back "+
		"FROM archive_step WHERE archive = ? ORDER BY number", archive)
}
