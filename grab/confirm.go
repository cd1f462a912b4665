package grab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"redrain/rain"
)

// Confirm is what must have a win before its player is told.
type Confirm int

// The ways to confirm a win, from the fastest to the safest.
const (
	ConfirmRedis   Confirm = iota // Redis: what it loses after the player was told is a promise that nobody can keep
	ConfirmReplica                // a replica of it too: the loss of a master loses no win that was told
	// a replica where there is one, and JetStream: the loss of all of Redis loses no win that was told
	ConfirmStream
)

var confirmNames = []string{ConfirmRedis: "redis", ConfirmReplica: "replica", ConfirmStream: "stream"}

// String is the mode's name, as ParseConfirm reads it.
func (c Confirm) String() string { return confirmNames[c] }

// ParseConfirm is the mode of that name: redis, replica or stream.
func ParseConfirm(name string) (Confirm, error) {
	for c, known := range confirmNames {
		if name == known {
			return Confirm(c), nil
		}
	}
	return 0, fmt.Errorf("%q is none of %s", name, strings.Join(confirmNames, ", "))
}

// errForgotten says that a win that the script has decided is not in Redis any more, or cannot be read there.
var errForgotten = errors.New("redis has forgotten a win before it was confirmed")

// confirmer makes sure of wins before their players are told.
type confirmer interface {
	// confirm marks as kept what may be told of the promises of one shard. An error says that the way is blocked,
	// for others as well; a promise that is not kept without one has been forgotten by Redis.
	confirm(ctx context.Context, campaign string, shard int, of []*promise) error
}

func (g *Grabber) newConfirmer() confirmer {
	switch g.o.Confirm {
	case ConfirmReplica:
		return &replicaConfirmer{g}
	case ConfirmStream:
		if g.o.Publish == nil {
			panic("grab: ConfirmStream without Publish") // a mistake of ours that the first start would meet
		}
		return &streamConfirmer{g}
	default:
		return nil
	}
}

// promise is one outbox entry, some of whose winners wait to be told. An entry is written whole and kept whole, so
// what is known of one of its wins holds for all.
type promise struct {
	entry   string
	witness rain.Win   // one of the wins
	wins    []rain.Win // all of the entry, in its order, where it has just been written; nil for an older one
	kept    bool       // its winners may be told
}

// promises are the entries behind some wins, each once.
type promises struct {
	list    []*promise
	byEntry map[string]*promise
	packets map[int]struct{} // those in the wins of a promise
}

// add is the promise of the win's entry.
func (p *promises) add(entry string, win rain.Win) *promise {
	known := p.byEntry[entry]
	if known == nil {
		known = &promise{entry: entry, witness: win}
		if p.byEntry == nil {
			p.byEntry = map[string]*promise{}
		}
		p.byEntry[entry] = known
		p.list = append(p.list, known)
	}
	return known
}

func (p *promises) kept(entry string) bool {
	known := p.byEntry[entry]
	return known != nil && known.kept
}

// allKept tells whether every winner may be told.
func (p *promises) allKept() bool {
	return !slices.ContainsFunc(p.list, func(p *promise) bool { return !p.kept })
}

// keep marks those promises as kept whose witness has the win on record, from that very entry; none where it fails.
// read gives fields of the wins hash as HMGET does. It is called once more where a witness has wins in blocks.
func keep(of []*promise, read func(fields []string) ([]any, error)) error {
	users := make([]string, len(of))
	for i, p := range of {
		users[i] = p.witness.User
	}
	texts, err := readAll(users, read)
	if err != nil {
		return err
	}
	var kept, behind []*promise
	var fields []string // blocks, each with the promise behind it
	for i, p := range of {
		if p.isIn(texts[i]) {
			kept = append(kept, p)
			continue
		}
		h, _ := parseHolding(users[i], texts[i]) // what nobody can read has no blocks
		for _, field := range h.fields(users[i]) {
			fields, behind = append(fields, field), append(behind, p)
		}
	}
	if len(fields) > 0 {
		if texts, err = readAll(fields, read); err != nil {
			return err
		}
	}
	for i, p := range behind {
		if p.isIn(texts[i]) {
			kept = append(kept, p)
		}
	}
	for _, p := range kept {
		p.kept = true
	}
	return nil
}

// readAll reads fields as text, "" where there is none.
func readAll(fields []string, read func([]string) ([]any, error)) ([]string, error) {
	found, err := read(fields)
	if err == nil && len(found) != len(fields) {
		err = errReply
	}
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(found))
	for i, v := range found {
		texts[i], _ = v.(string)
	}
	return texts, nil
}

// isIn tells whether the witness's win is among those of a text.
func (p *promise) isIn(text string) bool {
	return strings.Contains(text+";", record{win: p.witness, entry: p.entry}.text()+";")
}
