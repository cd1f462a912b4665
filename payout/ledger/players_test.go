package ledger_test

import (
	"slices"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/standing"
	"redrain/payout/paytest"
	"redrain/rain"
)

// Players are found by the beginning of their ids, wherever something is known of them: money, a ban, a verdict.
func TestPlayersAreFound(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		node := paytest.Node(t, b)
		b.OpenCampaign(t, "c", rain.Spec{Budget: 100, Packets: 10})
		b.MustPost(t, paytest.Entry("c", 1, paytest.Win("ua", 0, 10), paytest.Win("张三", 1, 10),
			paytest.Win("u%", 2, 10), paytest.Win("UA", 3, 10)))
		for _, user := range []string{"ub", "ua", "张四"} {
			paytest.Must(t, testenv.Err(node.Sanctions.Give(ctx, user, standing.Ban, warden)))
		}
		paytest.Must(t, testenv.Err(node.Sanctions.Give(ctx, "张四", standing.Unban, warden)))
		suspect(t, node, "uc")
		for prefix, want := range map[string][]string{
			"\U0010FFFF": nil, "\uD7FF": nil,
			"u": {"u%", "ua", "ub", "uc"}, "ua": {"ua"}, "张": {"张三", "张四"}, "U": {"UA"}, "u%": {"u%"}, "_": nil,
			"": {"UA", "u%", "ua", "ub", "uc", "张三", "张四"},
		} {
			for limit := 1; limit < 8; limit++ {
				var got []string
				for _, p := range slices.Concat(paytest.Pages(t, func(after string) ([]ledger.Player, string, error) {
					return node.Players.ListPlayers(ctx, prefix, after, limit)
				})...) {
					got = append(got, p.User)
					won := slices.Contains([]string{"ua", "张三", "u%", "UA"}, p.User)
					if p.Banned != (p.User == "ua" || p.User == "ub") || (p.Balance == 10) != won {
						t.Errorf("%+v", p)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%q, %d at once: %v, want %v", prefix, limit, got, want)
				}
			}
		}
		verdicts, err := node.Risk.VerdictsOf(ctx, "uc")
		if err != nil || len(verdicts) != 1 || verdicts[0].By != ledger.ByRules {
			t.Errorf("verdicts %+v, %v", verdicts, err)
		}
	})
}

// The list of bans has those that hold, each once, and by whom and why.
func TestBansThatHold(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		s := paytest.Node(t, b).Sanctions
		for _, g := range []struct {
			user string
			act  standing.SanctionAct
		}{
			{"a", standing.Ban}, {"b", standing.Ban}, {"c", standing.Disconnect}, {"b", standing.Unban},
			{"d", standing.Ban}, {"a", standing.Ban}, {"d", standing.Disconnect}, {"e", standing.Unban},
		} {
			paytest.Must(t, testenv.Err(s.Give(ctx, g.user, g.act, warden)))
		}
		for limit := 1; limit < 4; limit++ {
			var got []string
			pages := paytest.Pages(t, func(cursor string) ([]standing.Sanction, string, error) {
				return s.Bans(ctx, cursor, limit)
			})
			for _, one := range slices.Concat(pages...) {
				got = append(got, one.User)
				if one.By != "ann" || one.Reason != "a bot" || one.Act != standing.Ban {
					t.Errorf("%+v", one)
				}
			}
			if want := []string{"a", "d"}; !slices.Equal(got, want) {
				t.Errorf("%d at once: %v, want %v", limit, got, want)
			}
		}
	})
}

// The log about one player has what was done about them, and nothing of others whose ids begin alike.
func TestTheLogAboutOne(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		s := paytest.Node(t, b).Sanctions
		for _, user := range []string{"a", "ab", "a"} {
			paytest.Must(t, testenv.Err(s.Give(paytest.As(t, "user.ban"), user, standing.Ban, warden)))
		}
		list, next, err := b.ListAuditOf(t.Context(), "user:a", "", 1)
		if err != nil || len(list) != 1 || next == "" {
			t.Fatal(list, next, err)
		}
		list, next, err = b.ListAuditOf(t.Context(), "user:a", next, 1)
		if err != nil || len(list) != 1 || list[0].Target != "user:a" || next != "" {
			t.Error(list, next, err)
		}
	})
}
