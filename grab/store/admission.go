package store

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

// AdmissionTimes are the lives of a slot in a room. Zero values mean the defaults.
type AdmissionTimes struct {
	Admitted time.Duration // from admission to the connection; defaults to 30 s
	Kept     time.Duration // between two renewals by the player's node; defaults to 60 s
	Lost     time.Duration // after the connection was lost; defaults to 30 s
}

// roomFor is the time for which the state of a room is kept after its last change.
const roomFor = time.Hour

// seatsAtOnce is the number of slots that are renewed or freed in one call. Redis answers no other client in the
// meantime.
const seatsAtOnce = 500

// Admission limits the players in the rooms of campaigns, over all nodes, and queues the others.
type Admission struct {
	*client

	times AdmissionTimes
}

// NewAdmission returns an Admission.
func NewAdmission(s *Store, t AdmissionTimes) *Admission {
	t.Admitted, t.Kept = cmp.Or(t.Admitted, 30*time.Second), cmp.Or(t.Kept, time.Minute)
	t.Lost = cmp.Or(t.Lost, 30*time.Second)
	return &Admission{client: s.client, times: t}
}

// Turn is a player's position at a room.
type Turn struct {
	Admitted bool
	New      bool          // admitted just now
	Position int           // in the queue, from 1
	Retry    time.Duration // after which a queued player should ask again; the position is kept somewhat longer
	Wait     time.Duration // expected wait; below 0: unknown
}

// Ask admits a player, or returns their queue position. A slot is then reserved until the player can have connected.
// A position is reserved until somewhat after the time at which the player should ask again.
func (a *Admission) Ask(ctx context.Context, c *rain.Campaign, user string) (Turn, error) {
	return a.admit(ctx, c, user, "", a.times.Admitted)
}

// Enter is Ask for a player who is connected to a node: the slot is theirs while Keep renews it.
func (a *Admission) Enter(ctx context.Context, c *rain.Campaign, user, node string) (Turn, error) {
	return a.admit(ctx, c, user, node, a.times.Kept)
}

func (a *Admission) admit(ctx context.Context, c *rain.Campaign, user, node string, hold time.Duration) (Turn, error) {
	k := a.keys.room(c.ID)
	spread := 0.9 + 0.2*rand.Float64() //nolint:gosec // not a secret
	answer, err := a.run(ctx, "admit", []string{k.seats, k.queue, k.asked, k.nodes, k.door}, c.Capacity,
		c.AdmitPerSecond, user, node, hold.Milliseconds(), strconv.FormatFloat(spread, 'f', 4, 64),
		roomFor.Milliseconds(), a.clock()).Int64Slice()
	switch {
	case err != nil:
	case len(answer) == 2 && answer[0] == 1:
		return Turn{Admitted: true, New: answer[1] == 1}, nil
	case len(answer) == 4 && answer[0] == 0:
		return Turn{
			Position: int(answer[1]), Retry: time.Duration(answer[2]) * time.Millisecond,
			Wait: time.Duration(answer[3]) * time.Millisecond,
		}, nil
	default:
		err = errReply
	}
	return Turn{}, fmt.Errorf("request a slot in campaign %s: %w", c.ID, err)
}

// Keep renews the slots of players who are on a node. unknown is the number of players whose slots Redis had lost.
func (a *Admission) Keep(ctx context.Context, campaign, node string, users []string) (unknown int, err error) {
	return a.seats(ctx, campaign, "keep", node, a.times.Kept, users)
}

// Lost keeps the slots of players with a lost connection for a while, so that they may come back.
func (a *Admission) Lost(ctx context.Context, campaign, node string, users []string) error {
	_, err := a.seats(ctx, campaign, "lost", node, a.times.Lost, users)
	return err
}

// Left frees the slots of players who have left.
func (a *Admission) Left(ctx context.Context, campaign, node string, users []string) error {
	_, err := a.seats(ctx, campaign, "left", node, 0, users)
	return err
}

func (a *Admission) seats(ctx context.Context, campaign, what, node string, hold time.Duration,
	users []string) (unknown int, err error) {
	k := a.keys.room(campaign)
	for some := range slices.Chunk(users, seatsAtOnce) {
		args := withTexts(some, what, node, hold.Milliseconds(), roomFor.Milliseconds(), a.clock())
		n, err := a.run(ctx, "seats", []string{k.seats, k.nodes}, args...).Int()
		if err != nil {
			return unknown, fmt.Errorf("renew slots in campaign %s: %w", campaign, err)
		}
		unknown += n
	}
	return unknown, nil
}

// withTexts appends texts to a script's arguments.
func withTexts(texts []string, args ...any) []any {
	for _, text := range texts {
		args = append(args, text)
	}
	return args
}

// Counts returns the number of players in the queue of a campaign's room, and of those with a slot.
func (a *Admission) Counts(ctx context.Context, campaign string) (waiting, seated int64, err error) {
	k := a.keys.room(campaign)
	after := "(" + strconv.FormatInt(a.clock(), 10)
	var asked, seats *redis.IntCmd
	err = a.pipelined(ctx, func(p redis.Pipeliner) {
		asked, seats = p.ZCount(ctx, k.asked, after, "+inf"), p.ZCount(ctx, k.seats, after, "+inf")
	})
	return asked.Val(), seats.Val(), wrap(err, "count waiting players of campaign %s", campaign)
}

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
	answer, err := a.numbers(ctx, 2*len(all), "allot", []string{a.keys.room(campaign).allotted}, args...)
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
	refused, err := a.run(ctx, "sit", []string{a.keys.guests(campaign, address)}, seats,
		AddressSeatFor.Milliseconds(), a.clock(), user).Int()
	return err == nil && refused == 0, wrap(err, "take a guest's slot in campaign %s", campaign)
}

// Stay renews the slots of an address's guests who are present.
func (a *Addresses) Stay(ctx context.Context, campaign, address string, users []string) error {
	for some := range slices.Chunk(users, seatsAtOnce) {
		args := withTexts(some, 0, AddressSeatFor.Milliseconds(), a.clock())
		key := []string{a.keys.guests(campaign, address)}
		if err := a.run(ctx, "sit", key, args...).Err(); err != nil {
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
