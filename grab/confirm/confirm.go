package confirm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"redrain/grab/store"
	"redrain/rain"
)

// timeout is the limit for confirming the wins of one player.
const timeout = 2 * time.Second

// ErrForgotten means that a win that the script has decided is not in Redis any more, or cannot be read there.
var ErrForgotten = errors.New("redis has forgotten a win before it was confirmed")

// Confirmer confirms wins before their players are notified. Its methods are safe for concurrent use.
type Confirmer struct {
	mode     Mode
	store    *store.Store
	wins     *store.Wins
	replicas *replicas
	stream   *stream
	log      *slog.Logger
}

// New returns a Confirmer. Mode Stream needs publisher; the other modes ignore it. log may be nil.
func New(s *store.Store, mode Mode, publisher Publisher, log *slog.Logger) *Confirmer {
	if mode == Stream && publisher == nil {
		panic("confirm: mode stream without a publisher") // a programming error that the first start would show
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	wins, lasting := store.NewWins(s), &replicas{store: s, always: mode == Replica}
	return &Confirmer{
		mode: mode, store: s, wins: wins, replicas: lasting, log: log,
		stream: &stream{replicas: lasting, wins: wins, outbox: store.NewOutbox(s), publisher: publisher},
	}
}

// Immediate reports whether players may be notified of a win as soon as Redis has it, without a confirmation.
func (c *Confirmer) Immediate() bool { return c.mode == Redis }

// Confirm confirms pending entries as the mode demands. It marks those whose winners may be notified. ErrForgotten
// means that the other entries are not in Redis any more. Any other error means that the next entries would fail too.
func (c *Confirmer) Confirm(ctx context.Context, campaign string, shard int, p *Pending) error {
	if len(p.entries) == 0 {
		return nil
	}
	var err error
	switch c.mode {
	case Replica:
		err = c.replicas.outlive(ctx, campaign, shard, p.entries)
	case Stream:
		err = c.stream.confirm(ctx, campaign, shard, p.entries)
	default:
		for _, e := range p.entries {
			e.confirmed = true
		}
	}
	if err != nil {
		return fmt.Errorf("confirm wins (%s): %w", c.mode, err)
	}
	if slices.ContainsFunc(p.entries, func(e *entry) bool { return !e.confirmed }) {
		return ErrForgotten
	}
	return nil
}

// mostWins is the number of a player's wins that are read at once: the newest.
const mostWins = 1_000

// PlayersWins are a player's newest wins.
type PlayersWins struct {
	Confirmed   []rain.Win // the player may be notified of these; in the order won
	Unconfirmed []rain.Win // not yet: these come with the next call or with their settlement
	Total       int        // number of the player's wins
}

// PlayersWins reads a player's newest wins, and confirms the unconfirmed ones.
func (c *Confirmer) PlayersWins(ctx context.Context, of *rain.Campaign, user string) (PlayersWins, error) {
	records, total, err := c.wins.Records(ctx, of, user, mostWins)
	if err != nil || len(records) == 0 {
		return PlayersWins{}, err
	}
	wins := PlayersWins{Total: total}
	good := func(string) bool { return true }
	if !c.Immediate() {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		var p Pending
		for _, r := range records {
			p.AddOlder(r.Entry, r.Win)
		}
		if err := c.Confirm(ctx, of.ID, of.Layout().Home(user), &p); err != nil {
			c.log.Warn("confirm a player's wins; the player is not notified of them now", "campaign", of.ID, "err", err)
		}
		good = p.Confirmed
	}
	for _, r := range records {
		if good(r.Entry) {
			wins.Confirmed = append(wins.Confirmed, r.Win)
		} else {
			wins.Unconfirmed = append(wins.Unconfirmed, r.Win)
		}
	}
	return wins, nil
}
