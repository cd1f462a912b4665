package posting

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// players holds the earlier wins of a batch's players in its campaigns.
type players struct {
	wins  map[playerKey]int64
	drops map[dropKey]bool
}

type playerKey struct{ campaign, user string }

type dropKey struct{ campaign, user, drop string }

// readPlayers reads the earlier wins of the entries' players. The caller has locked their balances, so no other
// transaction posts wins of theirs meanwhile.
func readPlayers(ctx context.Context, q sqldb.Querier, entries []rain.Entry) (*players, error) {
	p := &players{wins: map[playerKey]int64{}, drops: map[dropKey]bool{}}
	for campaign, users := range usersOf(entries) {
		err := sqldb.EachIn(ctx, q, func(scan sqldb.Scan) error {
			key := playerKey{campaign: campaign}
			var wins int64
			err := scan(&key.user, &wins)
			p.wins[key] = wins
			return err
		}, "SELECT user_id, wins FROM winner WHERE campaign_id = ? AND user_id IN", users, campaign)
		if err != nil {
			return nil, err
		}
	}
	for i := range entries {
		e := &entries[i]
		for some := range slices.Chunk(e.Wins, dropsAtOnce) {
			if err := p.readDrops(ctx, q, e.Ref.Campaign, some); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// dropsAtOnce is the number of drops in one statement.
const dropsAtOnce = 100

// readDrops reads which drops of the wins have paid their players before.
func (p *players) readDrops(ctx context.Context, q sqldb.Querier, campaign string, wins []rain.Win) error {
	args := []any{campaign}
	for i := range wins {
		args = append(args, wins[i].User, wins[i].Drop)
	}
	return q.Each(ctx, func(scan sqldb.Scan) error {
		key := dropKey{campaign: campaign}
		err := scan(&key.user, &key.drop)
		p.drops[key] = true
		return err
	}, "SELECT user_id, drop_id FROM payout WHERE campaign_id = ? AND (user_id = ? AND drop_id = ?"+
		strings.Repeat(" OR user_id = ? AND drop_id = ?", len(wins)-1)+")", args...)
}

// usersOf returns the players of entries, each once, by campaign.
func usersOf(entries []rain.Entry) map[string][]string {
	users := map[string][]string{}
	for i := range entries {
		for j := range entries[i].Wins {
			c := entries[i].Ref.Campaign
			users[c] = append(users[c], entries[i].Wins[j].User)
		}
	}
	for c := range users {
		slices.Sort(users[c])
		users[c] = slices.Compact(users[c])
	}
	return users
}

// refusal returns the reason why a player cannot win once more. If it is "", the win is counted.
func (p *players) refusal(campaign terms, w rain.Win) string {
	if p == nil {
		return ""
	}
	drop := dropKey{campaign.ID, w.User, w.Drop}
	if p.drops[drop] {
		return fmt.Sprintf("the player has won with drop %s before, and got another packet", w.Drop)
	}
	player := playerKey{campaign.ID, w.User}
	if p.wins[player] >= int64(campaign.WinsPerUser) {
		return fmt.Sprintf("the player has reached the campaign's limit of %d wins", campaign.WinsPerUser)
	}
	p.drops[drop] = true
	p.wins[player]++
	return ""
}

// errTooMany means that a player of the batch has more wins than the campaign allows.
var errTooMany = errors.New("a player has won more often than the campaign allows")

// winners holds the total of each player's wins after a batch.
type winners map[playerKey]rain.Money

// playerWins is a batch's addition to a player's total.
type playerWins struct {
	playerKey
	wins   int64
	amount rain.Money
}

// countWins adds the wins of a batch to the players' totals, and returns these. It fails with errTooMany if a player
// has more wins than allowed.
func countWins(ctx context.Context, tx *sqldb.Tx, b *batch) (winners, error) {
	all := make([]playerWins, len(b.wins))
	for i := range b.wins {
		w := &b.wins[i]
		all[i] = playerWins{playerKey{w.ref.Campaign, w.win.User}, 1, w.win.Amount}
	}
	slices.SortFunc(all, func(x, y playerWins) int { return x.compare(y.playerKey) })
	added := all[:0]
	for _, one := range all {
		if n := len(added); n > 0 && added[n-1].playerKey == one.playerKey {
			added[n-1].wins++
			added[n-1].amount += one.amount
		} else {
			added = append(added, one)
		}
	}
	totals := make(winners, len(added))
	for len(added) > 0 {
		n := 1
		for n < len(added) && added[n].campaign == added[0].campaign {
			n++
		}
		most := int64(b.campaigns[added[0].campaign].WinsPerUser)
		if err := countPlayers(ctx, tx, added[:n], most, totals); err != nil {
			return nil, err
		}
		added = added[n:]
	}
	return totals, nil
}

var intoWinner = sqldb.Into{Table: "winner", Columns: []string{"campaign_id", "user_id", "wins", "amount"},
	Merge: sqldb.Merge{Key: []string{"campaign_id", "user_id"}, Add: []string{"wins", "amount"}}}

// countPlayers adds to the totals of one campaign's players. The parameter most is the limit of wins of each.
func countPlayers(ctx context.Context, tx *sqldb.Tx, added []playerWins, most int64, totals winners) error {
	campaign := added[0].campaign
	var user sql.RawBytes
	var wins, amount int64
	row, next := []any{&user, &wins, &amount}, 0
	return tx.InsertReading(ctx, intoWinner, len(added), func(i int, r *sqldb.Row) {
		r.Text(campaign)
		r.Text(added[i].user)
		r.Int(added[i].wins)
		r.Int(int64(added[i].amount))
	}, sqldb.Back{Key: "user_id", Where: "campaign_id = ?", Args: []any{campaign},
		Columns: []string{"user_id", "wins", "amount"}, Row: func(scan sqldb.Scan) error {
			if err := scan(row...); err != nil {
				return err
			}
			key := playerKey{campaign: campaign}
			if next < len(added) && added[next].user == string(user) { // rows normally come in the order of insertion
				key = added[next].playerKey
				next++
			} else {
				key.user = string(user)
			}
			totals[key] = rain.Money(amount)
			if wins > most {
				return fmt.Errorf("%q: %w", key.user, errTooMany)
			}
			return nil
		}})
}

func (k playerKey) compare(other playerKey) int {
	return cmp.Or(cmp.Compare(k.campaign, other.campaign), cmp.Compare(k.user, other.user))
}
