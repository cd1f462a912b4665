package posting

import (
	"context"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/entrytext"
	"redrain/rain"
)

// PostLetter posts the entry in a letter.
func (p *Poster) PostLetter(ctx context.Context, tx *sqldb.Tx,
	d DeadLetter) (settled []Settlement, reason string, err error) {
	e, reason := entrytext.Decode(d.Payload)
	if reason != "" {
		return nil, reason, nil
	}
	b, err := readBatch(ctx, tx, p.splits, []rain.Entry{e}, true)
	if err != nil {
		return nil, "", err
	}
	clear(b.dead)
	if d.Kind != LetterMessage {
		// a letter that waits has been counted as taken by every rebuild, so its packet is on offer to nobody
		clear(b.barriers)
	}
	b.classify(e)
	if refused := slices.Concat(b.letters, b.voids); len(refused) > 0 {
		return nil, refused[0].Reason, nil
	}
	posted, err := p.write(ctx, tx, b)
	return posted.Settled, "", err
}
