package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// Addresses limits the guests of one address in a campaign together, over all nodes.
type Addresses struct{ *client }

// NewAddresses returns an Addresses.
func NewAddresses(s *Store) *Addresses { return &Addresses{s.client} }

const (
	// allottedFor is the time for which the wins of an address's guests are kept, after the last of its guests has
	// asked.
	allottedFor = 7 * 24 * time.Hour
	// AddressSeatFor is the time for which a guest's slot counts for their address, after its last renewal.
	AddressSeatFor = 90 * time.Second
)

// Allotment is a node's lease of an address's wins, with the node's request.
type Allotment struct {
	Address string
	Has     int // used or not
	Want    int // below 0: as many are returned
	Got     int // the answer: granted of Want
	Total   int // the answer: sum over all nodes
}

// Allot requests leases of wins of addresses for a node, and fills in the answers. most is the limit of an
// address.
func (a *Addresses) Allot(ctx context.Context, campaign, node string, most int, all []Allotment) error {
	args := []any{most, node, allottedFor.Milliseconds()}
	for i := range all {
		args = append(args, all[i].Address, all[i].Has, all[i].Want)
	}
	answer, err := a.run(ctx, a.scripts.allot, []string{a.keys.room(campaign).allotted}, args...).Int64Slice()
	if err == nil && len(answer) != 2*len(all) {
		err = errReply
	}
	if err != nil {
		return fmt.Errorf("lease wins of addresses in campaign %s: %w", campaign, err)
	}
	for i := range all {
		all[i].Got, all[i].Total = int(answer[2*i]), int(answer[2*i+1])
	}
	return nil
}

// Sit gives a guest a slot of their address, which has seats of them. ok is false if all are taken.
func (a *Addresses) Sit(ctx context.Context, campaign, address, user string, seats int) (ok bool, err error) {
	refused, err := a.run(ctx, a.scripts.sit, []string{a.keys.guests(campaign, address)}, seats,
		AddressSeatFor.Milliseconds(), user).Int()
	if err != nil {
		return false, fmt.Errorf("take a guest's slot in campaign %s: %w", campaign, err)
	}
	return refused == 0, nil
}

// Stay renews the slots of an address's guests who are present.
func (a *Addresses) Stay(ctx context.Context, campaign, address string, users []string) error {
	for some := range slices.Chunk(users, seatsAtOnce) {
		args := []any{0, AddressSeatFor.Milliseconds()}
		for _, user := range some {
			args = append(args, user)
		}
		key := []string{a.keys.guests(campaign, address)}
		if err := a.run(ctx, a.scripts.sit, key, args...).Err(); err != nil {
			return fmt.Errorf("renew guests' slots in campaign %s: %w", campaign, err)
		}
	}
	return nil
}

// Rise frees the slots of guests who have left, by their addresses.
func (a *Addresses) Rise(ctx context.Context, campaign string, gone map[string][]string) error {
	return a.pipelined(ctx, func(p redis.Pipeliner) {
		for address, users := range gone {
			p.ZRem(ctx, a.keys.guests(campaign, address), users)
		}
	})
}
