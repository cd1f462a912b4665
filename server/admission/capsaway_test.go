package admission

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"redrain/grab/grabtest"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
	"redrain/server/presence"
)

// away is a Redis that returns no quota, and no slot.
type away struct{ *store.Addresses }

var errAway = errors.New("away")

func (away) Allot(context.Context, string, string, int, []store.Allotment) error { return errAway }

func (away) Sit(context.Context, string, string, string, int) (bool, error) { return false, errAway }

// If Redis does not answer, no guest is admitted and no failed attempt is kept. The quotas of known addresses stay.
func TestRedisIsAway(t *testing.T) {
	w := newCapsWorld(t, grabtest.InProcess(t), 400)
	one := w.node("n1", nil)
	a := w.enter(one, hall, guest(1))
	one.o.Redis = away{w.redis}
	testenv.WantErr(t, testenv.Err(one.Enter(t.Context(), w.c, "203.0.113.8", guest(2))), errAway)
	testenv.Equal(t, len(one.accounts), 1, "accounts")
	for {
		if _, ok := a.Take(); !ok {
			break
		}
	}
	if one.feed(t.Context()) == nil {
		t.Error("fed from nowhere")
	}
	w.round(one)
	one.o.Redis = w.redis
	if one.feed(t.Context()) != nil {
		t.Error("not fed")
	}
	if why, ok := a.Take(); !ok {
		t.Errorf("%v when Redis answers again", why)
	}
}

// A guest who leaves and cannot come back gives up the seat.
func TestAFailedReturn(t *testing.T) {
	w := newCapsWorld(t, grabtest.InProcess(t), 100)
	one := w.node("n1", func(o *CapsOptions) { o.Seats = 1 })
	w.enter(one, hall, guest(1))
	one.Leave("c1", hall, guest(1))
	one.o.Redis = away{w.redis}
	testenv.WantErr(t, testenv.Err(one.Enter(t.Context(), w.c, hall, guest(1))), errAway)
	one.o.Redis = w.redis
	w.round(one)
	w.enter(one, hall, guest(2))
}

// partly is a Redis in which the master of one campaign does not answer.
type partly struct {
	AddressStore

	kept map[string]int // Stays by campaign
}

func (p partly) Stay(_ context.Context, campaign, _ string, _ []string) error {
	if p.kept[campaign]++; campaign == "away" {
		return errAway
	}
	return nil
}

// A master that does not answer is asked once, and seats on the others are kept.
func TestSeatsOnOtherMasters(t *testing.T) {
	p := partly{kept: map[string]int{}}
	c := &Caps{o: CapsOptions{Seats: 1, Redis: p}}
	const many = 50
	var changes []presence.Change[capKey, string]
	for i := range many {
		for _, campaign := range []string{"away", "well"} {
			changes = append(changes, presence.Change[capKey, string]{
				Group: capKey{campaign, fmt.Sprint(i)}, Member: "u",
			})
		}
	}
	if err := c.writeSeats(t.Context(), changes); !errors.Is(err, errAway) || p.kept["well"] != many ||
		p.kept["away"] != 1 {
		t.Errorf("%v, %v", p.kept, err)
	}
}

// If guests have packets of their own, an address may win a share of these. A small campaign has a minimum.
func TestAnAddressWinsItsPartOfTheGuestsPackets(t *testing.T) {
	t.Parallel()
	c := &Caps{o: CapsOptions{Wins: 0.1}}
	of := &rain.Campaign{Spec: rain.Spec{Packets: 10_000, Shards: 4}}
	testenv.Equal(t, c.most(of), 1_000, "of all packets")
	of.GuestsShare = 200_000
	testenv.Equal(t, c.most(of), 200, "of the guests' 2,000")
	of.Packets, of.GuestsShare = 20, 0
	testenv.Equal(t, c.most(of), leastWins, "of 20")
}
