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
	"redrain/payout/ledger/standing"
	"redrain/rain"
)

// MaxDecided is how many held wins are decided about at once.
const MaxDecided = 1000

// Decided is what a decision about held wins has changed.
type Decided struct {
	Wins     []Held               // those that were asked for and exist, as they are now, in the order of their claims
	Released []posting.Settlement // those that have become their players' by it
}

// Release gives held wins to their players, and lets these play on: what they win from now on is not held for what the
// rules say. A win that was decided about before stays as it is. Asked for again it does nothing.
func (s *Risk) Release(ctx context.Context, claims []string, by Person) (Decided, error) {
	return s.decide(ctx, claims, HeldReleased, by)
}

// Confirm gives held wins back to their campaigns' sponsors. A win that was decided about before stays as it is.
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
		// They are not locked: what somebody else decides about meanwhile is found when the decision is written.
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
		open := d.open(to, by, now)
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
				"amount": strconv.FormatInt(int64(total(open)), 10)}})
		faults.Point("held.before_commit")
		return err
	})
	if err != nil {
		return Decided{}, fmt.Errorf("%d held wins: %w", len(claims), err)
	}
	faults.Point("held.after_commit")
	if to == HeldReleased {
		err = s.trust(ctx, d, by)
		faults.Point("held.after_trust")
	}
	return d, err
}

// open decides about those of the wins that are open.
func (d *Decided) open(to HeldState, by Person, now int64) (open []*Held) {
	for i := range d.Wins {
		if h := &d.Wins[i]; h.State == HeldOpen {
			h.State, h.By, h.Decision, h.DecidedAt = to, by.Name, by.Reason, now
			open = append(open, h)
		}
	}
	return open
}

func total(wins []*Held) (sum rain.Money) {
	for _, h := range wins {
		sum += h.Amount
	}
	return sum
}

// moveHeld is the transaction that gives wins to those who have them from now on. Its key names the first of them, and
// each is given once.
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

// writeDecided writes a decision down. A win that somebody else has decided about meanwhile is an error: it is read
// again.
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

// released are wins as their players are told of them.
func released(wins []*Held, moves booking.Movements) []posting.Settlement {
	told := make([]posting.Settlement, len(wins))
	for i, h := range wins {
		balance, _ := moves.Balance(booking.UserAccount(h.User))
		told[i] = posting.Settlement{Campaign: h.Campaign, Claim: h.Claim, User: h.User, Packet: h.Packet,
			Drop: h.Ticket, Amount: h.Amount, Balance: balance, WonAt: h.WonAt, New: true}
	}
	return told
}

// trust lets players play on.
func (s *Risk) trust(ctx context.Context, d Decided, by Person) error {
	reasons := standing.EncodeReasons([]standing.Reason{
		{Rule: "person", Sentence: "a held win was released: " + by.Reason},
	})
	known := map[string]bool{}
	var given []standing.Verdict
	for _, h := range d.Wins {
		if h.State == HeldReleased && !known[h.User] {
			known[h.User] = true
			given = append(given, standing.Verdict{User: h.User, Act: standing.Allow, Reasons: reasons})
		}
	}
	if len(given) == 0 {
		return nil
	}
	_, err := s.Give(ctx, "operator:"+by.Name, given...)
	return err
}
