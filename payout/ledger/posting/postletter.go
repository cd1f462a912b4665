package posting

import (
	"context"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout"
	"redrain/rain"
)

// PostLetter posts the entry in a dead letter on an operator's request. It never posts an entry that no node of this
// installation has sealed.
func (p *Poster) PostLetter(ctx context.Context, tx *sqldb.Tx,
	d DeadLetter) (settled []Settlement, reason string, err error) {
	if d.Kind == LetterMessage {
		return nil, "its payload is no entry of this installation: it cannot be retried", nil
	}
	e, err := payout.DecodeEntry(d.Payload)
	if err != nil {
		return nil, err.Error(), nil //nolint:nilerr // the reason why it stays a dead letter
	}
	b, refused, err := p.classifyLetter(ctx, tx, d, e, nil)
	if err != nil {
		return nil, "", err
	}
	if len(refused) > 0 {
		return nil, refused[0].Reason, nil
	}
	posted, err := p.write(ctx, tx, b)
	return posted.Settled, "", err
}

// classifyLetter decides the present outcome of the entry in a dead letter. It locks the campaign's escrow. refused
// are the parts that cannot be posted; with banned, also a banned player's wins.
func (p *Poster) classifyLetter(ctx context.Context, tx *sqldb.Tx, d DeadLetter, e rain.Entry,
	banned bannedAt) (b *batch, refused []DeadLetter, err error) {
	entries := []rain.Entry{e}
	if b, err = p.readBatch(ctx, tx, entries, careful); err != nil {
		return nil, nil, err
	}
	if b.doubted, err = p.seals.ever(ctx, tx); err != nil {
		return nil, nil, err
	}
	clear(b.dead) // the dead letter itself must not block its entry
	if d.Kind != LetterForged {
		clear(b.bounds.barriers) // every rebuild has counted its packet as assigned, so the packet is not in stock
	}
	b.bannedAt = banned
	b.classify(entries...)
	return b, slices.Concat(b.letters, b.voids), nil
}
