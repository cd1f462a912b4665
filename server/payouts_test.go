package server

import (
	"errors"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/paytest"
	"redrain/rain"
	"redrain/server/config"
)

// TestGuestsMayNotWithdrawByDefault: who plays under a generated name takes money out only with the in-process default,
// or where the config says so. Everybody else may.
func TestGuestsMayNotWithdrawByDefault(t *testing.T) {
	t.Parallel()
	const guest = "guest-0123456789abcdef0123"
	const database = "redrain@tcp(db:3306)/redrain"
	yes, no := true, false
	for name, c := range map[string]struct {
		cfg func(*config.Config)
		may bool
	}{
		"in process":            {func(*config.Config) {}, true},
		"in process, forbidden": {func(c *config.Config) { c.GuestsWithdraw = &no }, false},
		"with a database":       {func(c *config.Config) { c.MySQL = database }, false},
		"with Redis and NATS": {func(c *config.Config) {
			c.Redis, c.NATS = "redis:6379", "nats://nats:4222"
		}, false},
		"with guests who play":        {func(c *config.Config) { c.MySQL, c.Guests = database, &yes }, false},
		"with a database and allowed": {func(c *config.Config) { c.MySQL, c.GuestsWithdraw = database, &yes }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &Server{cfg: config.Default()}
			c.cfg(&s.cfg)
			b := paytest.OnSQLite(t)
			b.Rich(t, guest, 100)
			b.Rich(t, "member", 100)
			withdrawals := b.Within(s.playerLimits())
			_, _, err := withdrawals.Withdraw(t.Context(), "w1", guest, 5)
			if limit, ok := errors.AsType[*ledger.LimitError](err); c.may && err != nil ||
				!c.may && (!ok || limit.Limit != ledger.LimitGuests) {
				t.Errorf("a guest: %v, want that they may: %v", err, c.may)
			}
			if _, _, err := withdrawals.Withdraw(t.Context(), "w2", "member", 5); err != nil {
				t.Errorf("one with a name: %v", err)
			}
		})
	}
}

// TestProvidersLimitWithdrawals: WeChat Pay and Alipay pay 0.10 yuan at least, and WeChat Pay less than 2,000 without a
// name. Their payees and --review-above are set too.
func TestProvidersLimitWithdrawals(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string]struct {
		least, most rain.Money
		payees      string
	}{
		config.ProviderWallet: {0, 0, ""}, config.ProviderHTTP: {0, 0, ""},
		config.ProviderWeChat: {10, 199_999, "wechat:wx1"}, config.ProviderAlipay: {10, 0, "alipay"},
	} {
		s := &Server{cfg: config.Default()}
		s.cfg.Provider, s.cfg.WeChatPay.AppID, s.cfg.ReviewAbove = provider, "wx1", new(int64(500))
		got := s.playerLimits()
		testenv.Equal(t, []any{got.Least, got.Most, s.payeeKind(), *got.Review},
			[]any{want.least, want.most, want.payees, rain.Money(500)}, "%s", provider)
		s.cfg.WithdrawMin = 30
		testenv.Equal(t, s.playerLimits().Least, rain.Money(30), "%s: the minimum", provider)
	}
}
