package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"redrain/internal/faults"
	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/chain"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// MaxDecided is the largest number of held wins in one decision.
const MaxDecided = 1000

// Decided is the result of a decision about held wins.
type Decided struct {
	Wins     []Held               // the requested ones that exist, after the decision, by their claims
	Released []posting.Settlement // those that this decision released
}

// Release gives held wins to their players. The rules hold none of these players' later wins. It keeps earlier
// decisions. A second call changes nothing.
func (s *Risk) Release(ctx context.Context, claims []string, by Person) (Decided, error) {
	return s.decide(ctx, claims, HeldReleased, by)
}

// Confirm returns held wins to their campaigns' sponsors. It keeps earlier decisions.
func (s *Risk) Confirm(ctx context.Context, claims []string, by Person) (Decided, error) {
	return s.decide(ctx, claims, HeldConfirmed, by)
}

func (s *Risk) decide(ctx context.Context, claims []string, to HeldState, by Person) (d Decided, err error) {
	claims = slices.Compact(slices.Sorted(slices.Values(claims)))
	if len(claims) > MaxDecided {
		return d, rain.Invalid{{Field: "claims", Message: fmt.Sprintf("at most %d held wins are decided about at once",
			MaxDecided)}}
	}
	by = by.stored()
	err = s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		d = Decided{}
		// They are not locked: writeDecided detects a concurrent decision.
		err := sqldb.EachIn(ctx, tx, func(scan sqldb.Scan) error {
			h, err := heldTable.Scan(scan)
			d.Wins = append(d.Wins, h)
			return err
		}, heldTable.Select("WHERE claim IN"), claims)
		if err != nil {
			return err
		}
		slices.SortFunc(d.Wins, func(a, b Held) int { return cmp.Compare(a.Claim, b.Claim) })
		now := s.clock()
		var open []*Held
		var sum rain.Money
		for i := range d.Wins {
			if h := &d.Wins[i]; h.State == HeldOpen {
				h.State, h.By, h.Decision, h.DecidedAt = to, by.Name, by.Reason, now
				open, sum = append(open, h), sum+h.Amount
			}
		}
		if len(open) == 0 {
			return nil
		}
		txn, err := s.moveHeld(ctx, tx, open, to)
		if err != nil {
			return err
		}
		b, err := booking.Book(ctx, tx, now, []booking.Txn{txn}, func(b booking.Booked) error {
			return s.writeDecided(ctx, tx, open, to, b.IDs[txn.Key])
		})
		if err != nil {
			return err
		}
		if to == HeldReleased {
			d.Released = released(open, b.Moves)
		}
		err = auditChange(ctx, tx, now, change{"", map[string]any{"state": string(HeldOpen)}},
			change{"held:" + open[0].Claim, map[string]any{"state": string(to), "claims": len(open),
				"amount": strconv.FormatInt(int64(sum), 10)}})
		faults.Point("held.before_commit")
		return err
	})
	if err != nil {
		return Decided{}, fmt.Errorf("decide about %d held wins: %w", len(claims), err)
	}
	faults.Point("held.after_commit")
	if to == HeldReleased {
		var users []string
		for _, h := range d.Wins {
			if h.State == HeldReleased && !slices.Contains(users, h.User) {
				users = append(users, h.User)
			}
		}
		_, err = s.allow(ctx, users, by, "a held win was released: ")
		faults.Point("held.after_trust")
	}
	return d, err
}

// moveHeld makes the transaction that gives wins to their new owners, each once. Its key names the first.
func (s *Risk) moveHeld(ctx context.Context, q sqldb.Querier, wins []*Held, to HeldState) (t booking.Txn, err error) {
	t = booking.Txn{Kind: booking.KindRelease, Key: "release:" + wins[0].Claim}
	var sponsors map[string]string
	if to == HeldConfirmed {
		t = booking.Txn{Kind: booking.KindConfirm, Key: "confirm:" + wins[0].Claim}
		var campaigns []string
		for _, h := range wins {
			campaigns = append(campaigns, h.Campaign)
		}
		slices.Sort(campaigns)
		sponsors, err = sqldb.PairsIn[string, string](ctx, q, "SELECT id, sponsor FROM campaign WHERE id IN",
			slices.Compact(campaigns))
		if err != nil {
			return t, err
		}
	}
	lines := map[booking.Account]int{}
	add := func(a booking.Account, amount rain.Money) {
		n, known := lines[a]
		if !known {
			n = len(t.Lines)
			lines[a] = n
			t.Lines = append(t.Lines, booking.Line{Account: a})
		}
		t.Lines[n].Amount += amount
	}
	var papers chain.Content
	for _, h := range wins {
		receiver := booking.UserAccount(h.User)
		if to == HeldConfirmed {
			sponsor, known := sponsors[h.Campaign]
			if !known {
				return t, posting.ErrUnknownCampaign
			}
			receiver = booking.SponsorAccount(sponsor)
		}
		add(booking.HeldAccount(h.User), -h.Amount)
		add(receiver, h.Amount)
		papers.Add(h.Claim, h.Campaign, h.Packet, h.User, h.Amount, h.State, h.By, h.Decision, h.DecidedAt)
	}
	t.Papers = papers.Sum()
	return t, nil
}

// writeDecided stores a decision. It fails with ErrAgain if another person has decided about a win meanwhile.
func (s *Risk) writeDecided(ctx context.Context, tx *sqldb.Tx, wins []*Held, to HeldState, txn int64) error {
	column := "release_id"
	if to == HeldConfirmed {
		column = "confirm_id"
	}
	claims := make([]string, len(wins))
	for i, h := range wins {
		claims[i] = h.Claim
	}
	changed, err := sqldb.ExecIn(ctx, tx, "UPDATE held SET state = ?, decided_by = ?, decision = ?, decided_at = ?, "+
		column+" = ? WHERE state = 'held' AND claim IN", claims, string(to), wins[0].By, wins[0].Decision,
		wins[0].DecidedAt, txn)
	if err == nil && changed != int64(len(claims)) {
		err = fmt.Errorf("%w: another person has decided about some of the wins", sqldb.ErrAgain)
	}
	return err
}

func released(wins []*Held, moves booking.Movements) []posting.Settlement {
	told := make([]posting.Settlement, len(wins))
	for i, h := range wins {
		balance, _ := moves.Balance(booking.UserAccount(h.User))
		told[i] = posting.Settlement{Campaign: h.Campaign, Claim: h.Claim, User: h.User, Packet: h.Packet,
			Drop: h.Ticket, Amount: h.Amount, Balance: balance, WonAt: h.WonAt, New: true}
	}
	return told
}
