// Package confirm confirms wins before their players are notified. With the mode replica, every failover candidate of
// Redis has them. Stream needs JetStream, and the candidates if there are any; the stream also decides which of several
// masters may confirm (epochs.go). In both modes Outbox also keeps entries from the outbox sweeper until the loss of
// the master cannot take them back.
package confirm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
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
	epochs   *epochs // used with mode Stream only
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
	wins, replicas := store.NewWins(s), newReplicas(s, mode == Replica)
	epochs := &epochs{replicas: replicas, claims: store.NewClaims(s), wins: wins, stream: publisher, log: log,
		patience: patience, known: map[shardKey]*shardEpoch{}}
	return &Confirmer{
		mode: mode, store: s, wins: wins, replicas: replicas, epochs: epochs, log: log,
		stream: &stream{epochs: epochs, wins: wins, outbox: store.NewOutbox(s), publisher: publisher},
	}
}

// Heed makes the Confirmer ask the other nodes, and notify them. It is called before the first use.
func (c *Confirmer) Heed(others Others) { c.epochs.others = others }

// Forget drops a campaign's cached epochs.
func (c *Confirmer) Forget(campaign string) { c.epochs.forget(campaign) }

// IsSuperseded reports whether this node has found that another Redis holds a shard.
func (c *Confirmer) IsSuperseded(campaign string, shard int) bool {
	return c.epochs.isSuperseded(campaign, shard)
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
		err = c.replicas.confirmReplicated(ctx, campaign, shard, p.entries)
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
			p.Add(r.Entry, r.Win, nil)
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

// Mode is the confirmation of a win before its player is notified.
type Mode int

// The modes, from the fastest to the safest.
const (
	// Redis alone: if Redis loses a win whose player was notified, it is never paid.
	Redis Mode = iota
	// Replica waits for all failover candidates too: the loss of a master loses no win of a notified player.
	Replica
	// Stream waits for those replicas if there are any, and for JetStream: the loss of all of Redis loses no win of a
	// notified player.
	Stream
)

var names = []string{Redis: "redis", Replica: "replica", Stream: "stream"}

// String returns the mode's name, as Parse reads it.
func (m Mode) String() string { return names[m] }

// Parse returns the mode with a name: redis, replica or stream.
func Parse(name string) (Mode, error) {
	for m, known := range names {
		if name == known {
			return Mode(m), nil
		}
	}
	return 0, fmt.Errorf("invalid mode %q: want one of %s", name, strings.Join(names, ", "))
}

// Pending holds outbox entries of one shard whose winners wait for their notification. An entry is written
// atomically, so a proof for one of its wins holds for all. The zero value is empty.
type Pending struct {
	entries []*entry
	byID    map[string]*entry
}

// entry is one pending entry.
type entry struct {
	sample    rain.WinRecord // one of its wins, with its id
	written   *rain.Entry    // the whole entry; nil for an older one that has not been read
	confirmed bool           // its winners may be notified
}

// Add adds a win of an entry with an id, unless the entry is pending already. written is the whole entry if it has just
// been written; nil: if its other wins are needed, they are read from the outbox.
func (p *Pending) Add(id string, win rain.Win, written *rain.Entry) {
	if p.byID[id] != nil {
		return
	}
	if p.byID == nil {
		p.byID = map[string]*entry{}
	}
	p.byID[id] = &entry{sample: rain.WinRecord{Win: win, Entry: id}, written: written}
	p.entries = append(p.entries, p.byID[id])
}

// Confirmed reports whether the winners of the entry may be notified.
func (p *Pending) Confirmed(id string) bool {
	known := p.byID[id]
	return known != nil && known.confirmed
}

// fieldsOf returns the fields of the wins hash with the samples of entries.
func fieldsOf(of []*entry) []string {
	fields := make([]string, len(of))
	for i, e := range of {
		fields[i] = store.WinField(e.sample.Win)
	}
	return fields
}

// confirmRecorded confirms the entries whose sample is on record, from that very entry. found holds the values of
// fieldsOf.
func confirmRecorded(of []*entry, found []any) {
	for i, e := range of {
		e.confirmed = i < len(found) && store.IsRecord(found[i], e.sample)
	}
}
