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

// timeout is how long the wins of one player may take to be confirmed.
const timeout = 2 * time.Second

// ErrForgotten says that a win that the script has decided is not in Redis any more, or cannot be read there.
var ErrForgotten = errors.New("redis has forgotten a win before it was confirmed")

// Confirmer makes sure of wins before their players are told. Its methods may be called from any goroutine.
type Confirmer struct {
	mode     Mode
	store    *store.Store
	wins     *store.Wins
	replicas *replicas
	stream   *stream
	log      *slog.Logger
}

// New makes a Confirmer. publisher is used in mode Stream only, which needs it; log may be nil.
func New(s *store.Store, mode Mode, publisher Publisher, log *slog.Logger) *Confirmer {
	if mode == Stream && publisher == nil {
		panic("confirm: mode stream without a publisher") // a mistake of ours that the first start would meet
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

// Immediate tells whether a win may be told as soon as Redis has it, so that nothing has to be confirmed.
func (c *Confirmer) Immediate() bool { return c.mode == Redis }

// Confirm has what the mode asks for make sure of pending entries, and marks as confirmed those whose winners may be
// told. ErrForgotten says that others are not in Redis any more; any other error says that the way is blocked, for
// whoever comes next as well.
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
		return fmt.Errorf("wins cannot be confirmed (%s): %w", c.mode, err)
	}
	if slices.ContainsFunc(p.entries, func(e *entry) bool { return !e.confirmed }) {
		return ErrForgotten
	}
	return nil
}

// mostWins is how many of a player's wins are read at once: the newest.
const mostWins = 1_000

// PlayersWins are a player's newest wins.
type PlayersWins struct {
	Confirmed   []rain.Win // that may be told to the player, in the order won
	Unconfirmed []rain.Win // that may not: they come with the next call or with their settlement
	Total       int        // how many the player has in all
}

// PlayersWins reads a player's newest wins. It gets for them what the mode asks for where they do not have it yet.
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
			c.log.Warn("a player's wins cannot be confirmed; they are not told now", "campaign", of.ID, "err", err)
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
