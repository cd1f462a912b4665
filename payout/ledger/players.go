package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/standing"
	"redrain/rain"
)

// Players finds players by id: those with an account, a verdict or a sanction.
type Players struct{ db *sqldb.DB }

// Player is one player.
type Player struct {
	User    string     `json:"user"`
	Balance rain.Money `json:"balance"`
	Banned  bool       `json:"banned"`
}

// ListPlayers lists players by a prefix of their ids. after is the previous page's last id; next is "" on the last.
func (s *Players) ListPlayers(ctx context.Context, prefix, after string,
	limit int) (list []Player, next string, err error) {
	users, err := s.begin(ctx, prefix, after, limit+1)
	if err != nil {
		return nil, "", fmt.Errorf("list players: %w", err)
	}
	if len(users) > limit {
		users, next = users[:limit], users[limit-1]
	}
	balances, err := booking.UserBalances(ctx, s.db, users)
	if err != nil {
		return nil, "", err
	}
	banned, err := s.banned(ctx, users)
	if err != nil {
		return nil, "", fmt.Errorf("read the bans of listed players: %w", err)
	}
	for _, user := range users {
		list = append(list, Player{User: user, Balance: balances[user], Banned: banned[user]})
	}
	return list, next, nil
}

func (s *Players) begin(ctx context.Context, prefix, after string, limit int) (users []string, err error) {
	for _, in := range []struct{ query, column, before string }{
		{"SELECT account_id FROM balance", "account_id", userPrefix},
		{"SELECT account_id FROM balance", "account_id", heldPrefix},
		{"SELECT DISTINCT user_id FROM sanction", "user_id", ""},
		{"SELECT DISTINCT user_id FROM verdict", "user_id", ""},
	} {
		from := in.before + prefix
		found, err := sqldb.Column[string](ctx, s.db, in.query+" WHERE "+in.column+" > ? AND "+in.column+
			" >= ? ORDER BY "+in.column+" LIMIT ?", in.before+after, from, limit)
		if err != nil {
			return nil, err
		}
		for _, id := range found {
			if strings.HasPrefix(id, from) { // they come first
				users = append(users, id[len(in.before):])
			}
		}
	}
	slices.Sort(users)
	users = slices.Compact(users)
	return users[:min(len(users), limit)], nil
}

// The prefixes of players' account ids.
var (
	userPrefix = booking.UserAccount("").ID()
	heldPrefix = booking.HeldAccount("").ID()
)

func (s *Players) banned(ctx context.Context, users []string) (map[string]bool, error) {
	newest, banned := map[string]int64{}, map[string]bool{}
	err := sqldb.EachIn(ctx, s.db, func(scan sqldb.Scan) error {
		var user string
		var act standing.SanctionAct
		var number int64
		err := scan(&user, &act, &number)
		if number > newest[user] {
			newest[user], banned[user] = number, act == standing.Ban
		}
		return err
	}, "SELECT user_id, act, number FROM sanction WHERE act <> 'disconnect' AND user_id IN", users)
	return banned, err
}

const mostVerdicts = 20

// VerdictsOf returns a player's verdicts, the newest first.
func (s *Risk) VerdictsOf(ctx context.Context, user string) ([]standing.Verdict, error) {
	list, err := standing.VerdictTable.List(ctx, s.db, "WHERE user_id = ? ORDER BY number DESC LIMIT ?", user,
		mostVerdicts)
	return list, sqldb.Wrap(err, "read the verdicts about player %q", user)
}
