package posting

import (
	"context"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout"
	"redrain/rain"
)

// PostLetter posts the entry in a letter, because a person has asked for it. What no node of this installation has ever
// sealed is not paid by that either.
func (p *Poster) PostLetter(ctx context.Context, tx *sqldb.Tx,
	d DeadLetter) (settled []Settlement, reason string, err error) {
	if d.Kind == LetterMessage {
		return nil, "it is not the text of an entry that this installation has written, and can only be looked at", nil
	}
	e, err := payout.DecodeEntry(d.Payload)
	if err != nil {
		return nil, err.Error(), nil //nolint:nilerr // it is why the letter waits on
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

// classifyLetter decides what would become of the entry in a letter today. It locks the campaign's escrow. refused is
// what could not be posted of it; with banned, that is also what a banned player has won.
func (p *Poster) classifyLetter(ctx context.Context, tx *sqldb.Tx, d DeadLetter, e rain.Entry,
	banned bannedAt) (b *batch, refused []DeadLetter, err error) {
	entries := []rain.Entry{e}
	if b, err = p.readBatch(ctx, tx, entries, careful); err != nil {
		return nil, nil, err
	}
	if b.doubted, err = p.seals.ever(ctx, tx); err != nil {
		return nil, nil, err
	}
	clear(b.dead) // the letter itself does not stand against it
	if d.Kind != LetterForged {
		clear(b.bounds.barriers) // every rebuild has counted the letter's packet as taken, so it is on offer to nobody
	}
	b.bannedAt = banned
	b.classify(entries...)
	return b, slices.Concat(b.letters, b.voids), nil
}
