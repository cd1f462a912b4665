package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// Addresses are what the guests of one address may have of a campaign together, over all nodes.
type Addresses struct{ *client }

// NewAddresses makes an Addresses.
func NewAddresses(s *Store) *Addresses { return &Addresses{s.client} }

const (
	// allottedFor is how long it is kept what the guests of an address have won, after the last of them has asked.
	allottedFor = 7 * 24 * time.Hour
	// AddressSeatFor is for how long a guest's seat is one of their address, after the last word of it.
	AddressSeatFor = 90 * time.Second
)

// Allotment is what a node has of an address's wins, and wants.
type Allotment struct {
	Address string
	Has     int // used or not
	Want    int // below 0: so many of them are given back
	Got     int // the answer: of what it wants
	Total   int // the answer: what all nodes have now
}

// Allot gets a node what it wants of wins of addresses, each of which may have so many, and fills in the answers.
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
		return fmt.Errorf("asking what addresses may win in campaign %s: %w", campaign, err)
	}
	for i := range all {
		all[i].Got, all[i].Total = int(answer[2*i]), int(answer[2*i+1])
	}
	return nil
}

// Sit seats a guest of an address of which so many may be there. ok is false where they are.
func (a *Addresses) Sit(ctx context.Context, campaign, address, user string, seats int) (ok bool, err error) {
	refused, err := a.run(ctx, a.scripts.sit, []string{a.keys.guests(campaign, address)}, seats,
		AddressSeatFor.Milliseconds(), user).Int()
	if err != nil {
		return false, fmt.Errorf("seating a guest in campaign %s: %w", campaign, err)
	}
	return refused == 0, nil
}

// Stay keeps the seats of an address's guests who are there.
func (a *Addresses) Stay(ctx context.Context, campaign, address string, users []string) error {
	for some := range slices.Chunk(users, seatsAtOnce) {
		args := []any{0, AddressSeatFor.Milliseconds()}
		for _, user := range some {
			args = append(args, user)
		}
		key := []string{a.keys.guests(campaign, address)}
		if err := a.run(ctx, a.scripts.sit, key, args...).Err(); err != nil {
			return fmt.Errorf("keeping guests' seats in campaign %s: %w", campaign, err)
		}
	}
	return nil
}

// Rise gives up the seats of guests who have gone, by their addresses.
func (a *Addresses) Rise(ctx context.Context, campaign string, gone map[string][]string) error {
	_, err := a.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for address, users := range gone {
			p.ZRem(ctx, a.keys.guests(campaign, address), users)
		}
		return nil
	})
	return a.checked(err)
}
