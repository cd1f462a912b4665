package ledger_test

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"redrain/internal/testenv"
	"redrain/internal/testenv/property"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// model has the expected state of the books, in the simplest form.
type model struct {
	accounts map[booking.Account]rain.Money
	deposits map[string]rain.Money
	amounts  map[string]*rain.Amounts // of the existing campaigns
	closed   map[string]bool
	packets  map[modelPacket]posting.Holder
	given    map[modelPacket]bool // returned to the sponsor
	reclaims map[rain.EntryRef]bool
	drops    map[modelDrop]bool // with a win
	wins     map[modelPlayer]int
}

func newModel() *model {
	return &model{
		accounts: map[booking.Account]rain.Money{}, deposits: map[string]rain.Money{},
		amounts: map[string]*rain.Amounts{}, closed: map[string]bool{},
		packets: map[modelPacket]posting.Holder{}, given: map[modelPacket]bool{},
		reclaims: map[rain.EntryRef]bool{}, drops: map[modelDrop]bool{}, wins: map[modelPlayer]int{},
	}
}

func (m *model) move(from, to booking.Account, amount rain.Money) {
	m.accounts[from] -= amount
	m.accounts[to] += amount
}

// TestAnyOrderOfOperations does random deposits, campaigns, postings, re-postings, contradictions, forgeries and
// reclaims, and compares every balance with the model after each of them. Package withdraw has the same for
// withdrawals.
func TestAnyOrderOfOperations(t *testing.T) {
	paytest.OnBoth(t, anyOrder)
}

func anyOrder(t *testing.T, b *paytest.Books) {
	t.Helper()
	// Runs share the database, and have different ids.
	run := 0
	property.Check(t, 10, func(rt *rapid.T) {
		run++
		// The limit of forged dead letters is shared by all runs.
		b.Statement(t, "UPDATE dead_letter SET resolved_at = 1 WHERE kind = 'forged'")
		m := newModel()
		prefix := fmt.Sprintf("%d-", run)
		sponsor := func(rt *rapid.T) string {
			return prefix + rapid.SampledFrom([]string{"s1", "s2"}).Draw(rt,
				"sponsor")
		}
		campaign := func(rt *rapid.T) string {
			return prefix + rapid.SampledFrom([]string{"c1", "c2", "c3"}).Draw(rt, "campaign")
		}
		user := func(rt *rapid.T) string {
			return prefix + rapid.SampledFrom([]string{"u1", "u2", "u3"}).Draw(rt, "user")
		}
		amount := rapid.Custom(func(rt *rapid.T) rain.Money {
			return rain.Money(rapid.IntRange(1, 40).Draw(rt,
				"amount"))
		})
		ctx := t.Context()
		seq := 0
		entryOf := func(rt *rapid.T) rain.Entry {
			seq++
			e := rain.Entry{Ref: rain.EntryRef{Campaign: campaign(rt), Shard: rapid.IntRange(0, 1).Draw(rt, "shard"),
				ID: fmt.Sprintf("%d-0", seq)}}
			if rapid.IntRange(0, 3).Draw(rt, "reclaim") == 0 {
				first := rapid.IntRange(0, 9).Draw(rt, "first")
				e.Reclaim = &rain.Reclaim{Numbers: paytest.Packets(first, rapid.IntRange(first, 10).Draw(rt, "last"))}
			} else {
				for range rapid.IntRange(1, 4).Draw(rt, "wins") {
					e.Wins = append(e.Wins, rain.Win{User: user(rt), Packet: rapid.IntRange(0, 10).Draw(rt, "packet"),
						Drop: paytest.DropOf(rapid.IntRange(0, 5).Draw(rt, "drop"))})
				}
				if rapid.IntRange(0, 3).Draw(rt, "at home") > 0 {
					e.Ref.Shard = rain.HomeShard(e.Wins[0].User, 2)
				}
			}
			e = paytest.Seal(e)
			if rapid.IntRange(0, 7).Draw(rt, "forge") == 0 {
				e.SealedAt++
			}
			return e
		}
		var posted []rain.Entry
		rt.Repeat(map[string]func(*rapid.T){
			"deposit": func(rt *rapid.T) {
				s, a := sponsor(rt), amount.Draw(rt, "amount")
				reference := rapid.SampledFrom([]string{"r1", "r2", "r3"}).Draw(rt, "reference")
				_, err := b.Deposit(ctx, s, reference, a)
				before, done := m.deposits[s+reference]
				switch {
				case done && before != a:
					if !errors.Is(err, ledger.ErrReferenceReused) {
						rt.Fatal(err)
					}
				case err != nil:
					rt.Fatal(err)
				case !done:
					m.deposits[s+reference] = a
					m.move(booking.World, booking.SponsorAccount(s), a)
				}
			},
			"create": func(rt *rapid.T) {
				s, id, budget := sponsor(rt), campaign(rt), 9+amount.Draw(rt, "budget")
				_, exists := m.accounts[booking.EscrowAccount(id)]
				c := &rain.Campaign{ID: id, Status: rain.Loading, Spec: rain.Spec{
					Name: "x", Sponsor: s, Budget: budget, Packets: 10, Shards: 2, Min: 1, Split: rain.DoubleMean,
					WinsPerUser: 2,
				}}
				err := b.CreateCampaign(ctx, c)
				switch {
				case exists:
					if !errors.Is(err, ledger.ErrCampaignExists) {
						rt.Fatal(err)
					}
				case m.accounts[booking.SponsorAccount(s)] < budget:
					if !errors.Is(err, booking.ErrInsufficientFunds) && !errors.Is(err, ledger.ErrUnknownSponsor) {
						rt.Fatal(err)
					}
				case err != nil:
					rt.Fatal(err)
				default:
					m.move(booking.SponsorAccount(s), booking.EscrowAccount(id), budget)
					if m.amounts[id], err = rain.NewAmounts(c); err != nil {
						rt.Fatal(err)
					}
					change(rt, b, id, func(c *rain.Campaign) error {
						c.Stocked()
						c.Rains = append(c.Rains, paytest.Rain(id))
						return nil
					})
				}
			},
			"close": func(rt *rapid.T) {
				if id := campaign(rt); m.amounts[id] != nil && !m.closed[id] {
					m.closed[id] = true
					change(rt, b, id, func(c *rain.Campaign) error { return c.Close(5) })
				}
			},
			"post": func(rt *rapid.T) {
				batch := rapid.SliceOfN(rapid.Custom(entryOf), 1, 4).Draw(rt, "entries")
				if len(posted) > 0 {
					batch = append(batch, rapid.SliceOfN(rapid.SampledFrom(posted), 0, 3).Draw(rt, "again")...)
				}
				got := testenv.Got(b.Post(ctx, paytest.Copies(batch))).Must(rt)
				m.post(rt, b, batch, got)
				posted = append(posted, paytest.Copies(batch)...)
			},
			"": func(rt *rapid.T) {
				for a, want := range m.accounts {
					if a == booking.World {
						continue // shared by all runs; the audit checks it
					}
					got, _, err := booking.BalanceOf(ctx, b.DB, a)
					if err != nil || got != want {
						rt.Fatalf("%s holds %d, want %d (%v)", a.ID(), got, want, err)
					}
				}
			},
		})
	})
	b.CheckBooks(t)
}

// change changes a campaign.
func change(rt *rapid.T, b *paytest.Books, id string, how func(*rain.Campaign) error) {
	testenv.Must(rt, testenv.Err(b.Update(rt.Context(), id, how)))
}

// mostHopeless is the limit of unpayable dead letters of one tap.
const mostHopeless = 20

// post applies the ledger's result to the model, and checks it. Each win is settled or dead. A packet has one owner.
// A player has one packet for a drop, and at most the allowed number.
func (m *model) post(rt *rapid.T, b *paytest.Books, batch []rain.Entry, got posting.Posted) {
	fresh := 0
	for _, s := range got.Settled {
		key := modelPacket{s.Campaign, s.Packet}
		h, known := m.packets[key]
		switch {
		case known && h != (posting.Holder{User: s.User, Amount: s.Amount}):
			rt.Fatalf("packet %v is settled for %v and for %s", key, h, s.User)
		case known == s.New:
			rt.Fatalf("settlement %+v, known before: %v", s, known)
		case !known:
			fresh++
			m.win(rt, batch, s)
		}
	}
	if fresh != got.New {
		rt.Fatalf("%d new settlements, said to be %d", fresh, got.New)
	}
	m.followReclaims(rt, b, batch)
	for a, balance := range m.accounts {
		if balance < 0 && a != booking.World {
			rt.Fatalf("%s is at %d", a.ID(), balance)
		}
	}
	for _, e := range batch {
		for _, w := range e.Wins {
			settled := m.packets[modelPacket{e.Ref.Campaign, w.Packet}].User == w.User
			dead := b.Count(rt, "SELECT COUNT(*) FROM dead_letter WHERE claim = ? AND source = ? AND user_id = ?",
				rain.ClaimID(e.Ref.Campaign, w.Packet), e.Ref.String(), w.User)
			if dead == 0 && b.Count(rt, "SELECT COUNT(*) FROM dead_letter WHERE campaign_id = ? AND user_id = ? AND "+
				"resolved_at = 0 AND payload LIKE ?", e.Ref.Campaign, w.User, "% "+w.Drop+" %") >= mostHopeless {
				dead = 1 // it is counted instead of kept, because of the limit
			}
			if m.amounts[e.Ref.Campaign] == nil && settled || !settled && dead == 0 {
				rt.Fatalf("win %+v of %s: settled %v, dead letters %d", w, e.Ref, settled, dead)
			}
		}
	}
}

// win pays a packet in the model, if it is payable.
func (m *model) win(rt *rapid.T, batch []rain.Entry, s posting.Settlement) {
	key, player := modelPacket{s.Campaign, s.Packet}, modelPlayer{s.Campaign, s.User}
	m.wins[player]++
	borneOut := false
	for _, e := range batch {
		for _, w := range e.Wins {
			borneOut = borneOut || e.Ref == s.Entry && w.User == s.User && w.Packet == s.Packet && w.Drop == s.Drop &&
				paytest.Ring.CheckTap(w.Seal, e.Ref.Campaign, w.User, w.Drop, e.SealedAt)
		}
	}
	if drop := (modelDrop{player, s.Drop}); m.drops[drop] || m.wins[player] > 2 || m.given[key] || !borneOut ||
		s.Amount != m.amounts[s.Campaign].Of(s.Packet) || rain.HomeShard(s.User, 2) != s.Entry.Shard {
		rt.Fatalf("%+v is paid, to a player with %d wins; with this drop %v; returned %v; sealed %v", s,
			m.wins[player],
			m.drops[drop], m.given[key], borneOut)
	} else {
		m.drops[drop] = true
	}
	m.packets[key] = posting.Holder{User: s.User, Amount: s.Amount}
	m.move(booking.EscrowAccount(s.Campaign), booking.UserAccount(s.User), s.Amount)
}

type modelPacket struct {
	campaign string
	packet   int
}

type modelPlayer struct{ campaign, user string }

type modelDrop struct {
	modelPlayer
	drop string
}

// followReclaims returns the packets of each reclaim in a batch: its shard's own unassigned ones.
func (m *model) followReclaims(rt *rapid.T, b *paytest.Books, batch []rain.Entry) {
	for _, e := range batch {
		id := e.Ref.Campaign
		if e.Reclaim == nil || m.reclaims[e.Ref] {
			continue
		}
		var packets int
		var amount rain.Money
		var sponsor string
		found := testenv.Got(b.DB.First(rt.Context(), []any{&packets, (*int64)(&amount), &sponsor},
			"SELECT r.packets, r.amount, c.sponsor FROM reclaim r JOIN campaign c ON c.id = r.campaign_id "+
				"WHERE r.campaign_id = ? AND r.shard = ? AND r.closed_at = ?", id, e.Ref.Shard, seqOf(rt,
				e.Ref))).Must(rt)
		last := e.Reclaim.Numbers[0].Last
		first, n := rain.ShardRange(10, 2, e.Ref.Shard) // without moves, a shard has its part of the split
		own := func(packet int) bool { return packet >= first && packet < first+n }
		good := paytest.Ring.CheckClosing(e.Reclaim.Seal, id, e.Ref.Shard, e.SealedAt) && m.closed[id] && last < 10 &&
			(own(e.Reclaim.Numbers[0].First) || own(last))
		dead := b.Count(rt, "SELECT COUNT(*) FROM dead_letter WHERE claim = ? AND kind <> 'pay'", e.Ref.String())
		if found == (dead > 0) || found && !good {
			rt.Fatalf("reclaim %+v: returned %v, dead letters %d, good %v", e, found, dead, good)
		}
		if !found {
			continue
		}
		m.reclaims[e.Ref] = true
		var wantPackets int
		var want rain.Money
		for packet := range e.Reclaim.Numbers.Each() {
			key := modelPacket{id, packet}
			_, won := m.packets[key]
			if !own(packet) || won || m.given[key] || b.Count(rt,
				"SELECT COUNT(*) FROM dead_letter WHERE kind = 'pay' AND campaign_id = ? "+
					"AND packet = ?", id, packet) > 0 {
				continue
			}
			m.given[key] = true
			wantPackets++
			want += m.amounts[id].Of(packet)
		}
		if packets != wantPackets || amount != want {
			rt.Fatalf("reclaim %+v gave %d packets and %d, want %d and %d", e, packets, amount, wantPackets, want)
		}
		m.move(booking.EscrowAccount(id), booking.SponsorAccount(sponsor), amount)
	}
}

func seqOf(rt *rapid.T, ref rain.EntryRef) int64 {
	ms := testenv.Got3(ref.Position()).Must(rt)
	return ms
}
