package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

// AdmissionTimes are how long a seat in a room is somebody's. Zero values stand for the usual ones.
type AdmissionTimes struct {
	Admitted time.Duration // from being let in to coming in; 30 s
	Kept     time.Duration // from one word of the node that the player is there to the next one, at most; 60 s
	Lost     time.Duration // after the line was lost; 30 s
}

// roomFor is how long what is known of a room is kept after the last word of it.
const roomFor = time.Hour

// seatsAtOnce is how many seats are kept or given up in one call. Redis answers no other client in the meantime.
const seatsAtOnce = 500

// Admission is who may be in the rooms of campaigns that let in a certain number, over all nodes, and who waits for
// that.
type Admission struct {
	*client

	times AdmissionTimes
}

// NewAdmission makes an Admission.
func NewAdmission(s *Store, t AdmissionTimes) *Admission {
	usual := func(d *time.Duration, is time.Duration) {
		if *d == 0 {
			*d = is
		}
	}
	usual(&t.Admitted, 30*time.Second)
	usual(&t.Kept, time.Minute)
	usual(&t.Lost, 30*time.Second)
	return &Admission{client: s.client, times: t}
}

// Turn is where a player stands with a room.
type Turn struct {
	Admitted bool
	New      bool          // admitted just now
	Position int           // of who waits, from 1
	Retry    time.Duration // when who waits should ask again; their place is kept until somewhat later
	Wait     time.Duration // how long it will take; below 0: that cannot be told
}

// Ask lets a player in, or tells their place. A seat is then theirs for as long as it takes to come in, and a place
// until somewhat after the time at which they should ask again.
func (a *Admission) Ask(ctx context.Context, c *rain.Campaign, user string) (Turn, error) {
	return a.admit(ctx, c, user, "", a.times.Admitted)
}

// Enter is Ask for a player who is there, on a node: the seat is theirs for as long as Keep says so.
func (a *Admission) Enter(ctx context.Context, c *rain.Campaign, user, node string) (Turn, error) {
	return a.admit(ctx, c, user, node, a.times.Kept)
}

func (a *Admission) admit(ctx context.Context, c *rain.Campaign, user, node string, hold time.Duration) (Turn, error) {
	k := a.keys.room(c.ID)
	spread := 0.9 + 0.2*rand.Float64() //nolint:gosec // not a secret
	answer, err := a.run(ctx, a.scripts.admit, []string{k.seats, k.queue, k.asked, k.nodes, k.door}, c.Capacity,
		c.AdmitPerSecond, user, node, hold.Milliseconds(), strconv.FormatFloat(spread, 'f', 4, 64),
		roomFor.Milliseconds()).Int64Slice()
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
	return Turn{}, fmt.Errorf("asking for a seat in campaign %s: %w", c.ID, err)
}

// Keep keeps the seats of players who are on a node. unknown is how many of them Redis had forgotten.
func (a *Admission) Keep(ctx context.Context, campaign, node string, users []string) (unknown int, err error) {
	return a.seats(ctx, campaign, "keep", node, a.times.Kept, users)
}

// Lost lets the seats of players whose line to a node has gone be theirs for a while, in which they may come back.
func (a *Admission) Lost(ctx context.Context, campaign, node string, users []string) error {
	_, err := a.seats(ctx, campaign, "lost", node, a.times.Lost, users)
	return err
}

// Left gives up the seats of players who have said that they go.
func (a *Admission) Left(ctx context.Context, campaign, node string, users []string) error {
	_, err := a.seats(ctx, campaign, "left", node, 0, users)
	return err
}

func (a *Admission) seats(ctx context.Context, campaign, what, node string, hold time.Duration,
	users []string) (unknown int, err error) {
	k := a.keys.room(campaign)
	for some := range slices.Chunk(users, seatsAtOnce) {
		args := []any{what, node, hold.Milliseconds(), roomFor.Milliseconds()}
		for _, user := range some {
			args = append(args, user)
		}
		n, err := a.run(ctx, a.scripts.seats, []string{k.seats, k.nodes}, args...).Int()
		if err != nil {
			return unknown, fmt.Errorf("telling who is in campaign %s: %w", campaign, err)
		}
		unknown += n
	}
	return unknown, nil
}

// Counts are how many wait for a campaign's room, and how many have a seat.
func (a *Admission) Counts(ctx context.Context, campaign string) (waiting, seated int64, err error) {
	k := a.keys.room(campaign)
	after := "(" + strconv.FormatInt(a.clock(), 10)
	var asked, seats *redis.IntCmd
	_, err = a.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		asked, seats = p.ZCount(ctx, k.asked, after, "+inf"), p.ZCount(ctx, k.seats, after, "+inf")
		return nil
	})
	if a.checked(err) != nil {
		return 0, 0, fmt.Errorf("counting who waits for campaign %s: %w", campaign, err)
	}
	return asked.Val(), seats.Val(), nil
}
