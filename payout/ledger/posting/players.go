package posting

import (
	"context"
	"fmt"
	"slices"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// players is what the players of a batch have won of its campaigns before.
type players struct {
	wins  map[playerKey]int64
	drops map[dropKey]bool
}

type playerKey struct{ campaign, user string }

type dropKey struct{ campaign, user, drop string }

// readPlayers reads what the players of entries have won. Whoever calls it has locked their balances, so nobody else
// posts anything of theirs meanwhile.
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
		for _, w := range e.Wins {
			var packet int
			found, err := q.First(ctx, []any{&packet},
				"SELECT packet FROM payout WHERE campaign_id = ? AND user_id = ? AND drop_id = ?", e.Ref.Campaign, w.User,
				w.Drop)
			if err != nil {
				return nil, err
			}
			if found {
				p.drops[dropKey{e.Ref.Campaign, w.User, w.Drop}] = true
			}
		}
	}
	return p, nil
}

// usersOf are the players of entries, each once, by campaign.
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

// refusal says why a player cannot have won once more; "" where they can, and then the win is counted.
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
		return fmt.Sprintf("the player has all the wins that the campaign allows, %d", campaign.WinsPerUser)
	}
	p.drops[drop] = true
	p.wins[player]++
	return ""
}

// errTooMany says that a player of the batch has more wins than the campaign allows.
var errTooMany = fmt.Errorf("a player has won more often than the campaign allows")

// winners is what the players of a batch have won in all, after it.
type winners map[playerKey]rain.Money

// countWins adds the wins of a batch to what their players have won, and returns their totals. It fails with errTooMany
// where somebody has more wins than allowed.
func countWins(ctx context.Context, tx *sqldb.Tx, b *batch) (winners, error) {
	added := map[playerKey]*[2]int64{} // wins, amount
	var keys []playerKey
	for i := range b.wins {
		w := &b.wins[i]
		key := playerKey{w.ref.Campaign, w.win.User}
		if added[key] == nil {
			added[key] = &[2]int64{}
			keys = append(keys, key)
		}
		added[key][0]++
		added[key][1] += int64(w.win.Amount)
	}
	slices.SortFunc(keys, playerKey.compare)
	columns := []string{"campaign_id", "user_id", "wins", "amount"}
	into := sqldb.Into{Table: "winner", Columns: columns, Merge: sqldb.Merge{Key: columns[:2], Add: columns[2:]}}
	err := tx.InsertEach(ctx, into, len(keys), func(i int, r *sqldb.Row) {
		r.Text(keys[i].campaign)
		r.Text(keys[i].user)
		r.Int(added[keys[i]][0])
		r.Int(added[keys[i]][1])
	})
	if err != nil {
		return nil, err
	}
	totals := make(winners, len(keys))
	users := map[string][]string{}
	for _, key := range keys {
		users[key.campaign] = append(users[key.campaign], key.user)
	}
	for campaign, list := range users {
		most := int64(b.campaigns[campaign].WinsPerUser)
		err := sqldb.EachIn(ctx, tx, func(scan sqldb.Scan) error {
			key := playerKey{campaign: campaign}
			var wins int64
			var amount rain.Money
			if err := scan(&key.user, &wins, &amount); err != nil {
				return err
			}
			totals[key] = amount
			if wins > most {
				return fmt.Errorf("%q: %w", key.user, errTooMany)
			}
			return nil
		}, "SELECT user_id, wins, amount FROM winner WHERE campaign_id = ? AND user_id IN", list, campaign)
		if err != nil {
			return nil, err
		}
	}
	return totals, nil
}

func (k playerKey) compare(other playerKey) int {
	return slices.Compare([]string{k.campaign, k.user}, []string{other.campaign, other.user})
}
