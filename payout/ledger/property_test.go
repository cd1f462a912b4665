package ledger_test

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// model is what the books must come to, kept in the simplest way there is.
type model struct {
	accounts map[booking.Account]rain.Money
	deposits map[string]rain.Money
	packets  map[modelPacket]posting.Holder
	shards   map[modelShard]rain.Reclaim
	out      map[string]ledger.Withdrawal // by id
}

func newModel() *model {
	return &model{
		accounts: map[booking.Account]rain.Money{}, deposits: map[string]rain.Money{},
		packets: map[modelPacket]posting.Holder{},
		shards:  map[modelShard]rain.Reclaim{}, out: map[string]ledger.Withdrawal{},
	}
}

func (m *model) move(from, to booking.Account, amount rain.Money) {
	m.accounts[from] -= amount
	m.accounts[to] += amount
}

// TestAnyOrderOfOperations does random deposits, campaigns, postings, re-postings, contradictions, reclaims,
// withdrawals and answers to them, in time and too late, and compares every balance with the model after each of
// them.
func TestAnyOrderOfOperations(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *paytest.Books{"sqlite": paytest.OnSQLite,
		"mysql": paytest.OnMySQL} {
		t.Run(name, func(t *testing.T) { anyOrder(t, open(t)) })
	}
}

func anyOrder(t *testing.T, b *paytest.Books) {
	t.Helper()
	// Runs share the database, and keep apart by their ids.
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
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
			if rapid.IntRange(0, 5).Draw(rt, "reclaim") == 0 {
				e.Reclaim = &rain.Reclaim{Packets: rapid.IntRange(1, 3).Draw(rt, "packets"),
					Amount: amount.Draw(rt, "left")}
				return e
			}
			for range rapid.IntRange(1, 4).Draw(rt, "wins") {
				e.Wins = append(e.Wins, rain.Win{
					User: user(rt), Packet: rapid.IntRange(0, 9).Draw(rt, "packet"), Amount: amount.Draw(rt, "amount"),
					Drop: "1.1",
				})
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
				s, id, budget := sponsor(rt), campaign(rt), amount.Draw(rt, "budget")
				_, exists := m.accounts[booking.EscrowAccount(id)]
				err := b.CreateCampaign(ctx, &rain.Campaign{ID: id, Status: rain.Loading, Spec: rain.Spec{
					Name: "x", Sponsor: s, Budget: budget, Packets: 10, Shards: 2, Min: 1, Split: rain.Even,
				}})
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
				}
			},
			"post": func(rt *rapid.T) {
				batch := rapid.SliceOfN(rapid.Custom(entryOf), 1, 4).Draw(rt, "entries")
				if len(posted) > 0 {
					batch = append(batch, rapid.SliceOfN(rapid.SampledFrom(posted), 0, 3).Draw(rt, "again")...)
				}
				got, err := b.Post(ctx, batch)
				if err != nil {
					rt.Fatal(err)
				}
				m.post(rt, b, batch, got)
				posted = append(posted, batch...)
			},
			"withdraw": func(rt *rapid.T) {
				id := prefix + rapid.SampledFrom([]string{"w1", "w2", "w3", "w4"}).Draw(rt, "id")
				m.withdraw(rt, b, id, user(rt), amount.Draw(rt, "amount"))
			},
			"answer": func(rt *rapid.T) { m.answer(rt, b) },
			"": func(rt *rapid.T) {
				for a, want := range m.accounts {
					if a == booking.World {
						continue // shared by all runs; the audit has an eye on it
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

// post follows what the ledger has decided, and checks that it was right to: each promise is settled or dead, a packet
// has one holder, a dead one had a reason.
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
			m.packets[key] = posting.Holder{User: s.User, Amount: s.Amount}
			m.move(booking.EscrowAccount(s.Campaign), booking.UserAccount(s.User), s.Amount)
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
		_, exists := m.accounts[booking.EscrowAccount(e.Ref.Campaign)]
		for _, w := range e.Wins {
			settled := m.packets[modelPacket{e.Ref.Campaign, w.Packet}] == posting.Holder{User: w.User,
				Amount: w.Amount}
			dead := b.Count(rt, "SELECT COUNT(*) FROM dead_letter WHERE claim = ? AND source = ? AND user_id = ? "+
				"AND amount = ?",
				rain.ClaimID(e.Ref.Campaign, w.Packet), e.Ref.String(), w.User, int64(w.Amount))
			if !exists && settled || !settled && dead != 1 {
				rt.Fatalf("win %+v of %s: settled %v, dead letters %d", w, e.Ref, settled, dead)
			}
		}
	}
}

func (m *model) followReclaims(rt *rapid.T, b *paytest.Books, batch []rain.Entry) {
	before := maps.Clone(m.shards)
	for _, e := range batch {
		if e.Reclaim == nil {
			continue
		}
		key := modelShard{e.Ref.Campaign, e.Ref.Shard}
		var done rain.Reclaim
		found, err := b.DB.First(rt.Context(), []any{&done.Packets, &done.Amount},
			"SELECT packets, amount FROM reclaim WHERE campaign_id = ? AND shard = ?", key.campaign, key.shard)
		if err != nil {
			rt.Fatal(err)
		}
		if old, ok := before[key]; ok && (!found || old != done) {
			rt.Fatalf("the reclaim of %v was %v and is %v", key, old, done)
		}
		if _, ok := m.shards[key]; !found || ok {
			continue
		}
		m.shards[key] = done
		var sponsor string
		if _, err := b.DB.First(rt.Context(), []any{&sponsor}, "SELECT sponsor FROM campaign WHERE id = ?",
			key.campaign); err != nil {
			rt.Fatal(err)
		}
		m.move(booking.EscrowAccount(key.campaign), booking.SponsorAccount(sponsor), done.Amount)
	}
}

type modelShard struct {
	campaign string
	shard    int
}

type modelPacket struct {
	campaign string
	packet   int
}
