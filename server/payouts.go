package server

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"redrain/grab/store"
	"redrain/internal/rsakeys"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/payout/pipeline"
	"redrain/payout/rollback"
	"redrain/payout/withdraw"
	"redrain/payout/withdraw/alipay"
	"redrain/payout/withdraw/webhook"
	"redrain/payout/withdraw/wechatpay"
	"redrain/rain"
	"redrain/server/api"
	"redrain/server/campaigns"
	"redrain/server/cluster"
	"redrain/server/config"
	"redrain/server/timeout"
)

// relayLease is the time after a node's death in which no other node relays.
const relayLease = 5 * time.Second

// buildRelay builds the outbox sweeper.
func (s *Server) buildRelay(publisher *pipeline.Publisher) {
	turn := cluster.NewLease(cluster.LeaseOptions{
		Leases: s.ledger.Leases, Name: "relay", Part: "relay", Node: s.node, TTL: relayLease,
		Recoverer: s.recoverer, Alarm: s.bus.Alarm, Log: s.log,
	})
	s.relay = pipeline.NewRelay(publisher, s.outbox, s.known, pipeline.RelayOptions{
		Turn: turn, Clock: s.clock.Now, Recoverer: s.recoverer, Log: s.log, Registerer: s.metrics,
	})
}

// buildSettler builds the settler and its notifications.
func (s *Server) buildSettler(ctx context.Context, js jetstream.JetStream) error {
	s.buildRollback(ctx, js)
	restore, err := s.ledger.Restores.Newest(ctx)
	if err != nil {
		return err
	}
	if restore.Open {
		s.log.Warn("the ledger was put back from a backup: withdrawals wait until `redrain restored --end`",
			"at", time.UnixMilli(restore.At).UTC())
	}
	if err := s.ledger.DeadLetters.Register(s.metrics); err != nil {
		return err
	}
	s.notifier = cluster.NewNotifier(store.NewRanking(s.redis), s.bus, s.log)
	alarms := pipeline.Alarms{
		OnCut: func(cuts []posting.ReclaimCut) {
			for _, c := range cuts {
				s.bus.Alarm("reclaim_cut", c.Ref.Campaign, c.Reason)
			}
		},
		OnDead:   s.forgeries.Waiting,
		OnForged: func(f pipeline.Forged) { s.forgeries.Heard(f.Letters, f.Discarded) },
		OnVoid:   func(letters []posting.DeadLetter) { campaigns.AlarmVoid(s.bus, letters) },
	}
	s.settler = pipeline.NewSettler(js, s.ledger.Seals.Ring(), s.ledger.Poster, s.ledger.DeadLetters, s.outbox,
		s.notifier,
		pipeline.SettlerOptions{
			Namespace: s.cfg.Namespace, Clock: s.clock.Now, Recoverer: s.recoverer, Log: s.log, Registerer: s.metrics,
			Attempts: s.cfg.PayoutAttempts, Alarms: alarms, Restored: restore.At, Wait: s.cfg.SettleWait(),
		})
	return nil
}

// buildRollback builds the detector of a ledger that has been rolled back, and runs it before anything is read from the
// stream or paid. A ledger that does not outlive its process cannot be rolled back.
func (s *Server) buildRollback(ctx context.Context, js jetstream.JetStream) {
	if s.cfg.MySQL == "" && s.cfg.DataDir == "" {
		return
	}
	s.rollback = rollback.New(rollback.Options{
		JetStream: js, Namespace: s.cfg.Namespace, Rows: s.ledger.Roots, Restores: s.ledger.Restores,
		Clock: s.clock.Now,
		Alarm: s.bus.Alarm, Recoverer: s.recoverer, Log: s.log, Registerer: s.metrics,
	})
	if err := s.rollback.Look(ctx); err != nil {
		s.log.Warn("check whether the ledger has been rolled back; retrying while serving", "err", err)
	}
}

// buildProvider builds the payment provider.
func (s *Server) buildProvider() (withdraw.Provider, error) {
	switch s.cfg.Provider {
	case config.ProviderHTTP:
		o := webhook.Options{
			URL: s.cfg.ProviderURL, Secret: s.cfg.ProviderSecret, Account: s.cfg.ProviderAccount, Clock: s.clock.Now,
		}
		if o.Account != "" { // without it, a new secret is another receiver, which is confirmed after a restart
			o.NewSecret = s.newest.of("provider-secret", o.Secret)
		}
		http, err := webhook.New(o)
		if err != nil {
			return nil, err
		}
		s.back.onClose(http.Close)
		return http, nil
	case config.ProviderWeChat:
		options := s.weChatOptions
		if s.cfg.DemoPayments {
			options = s.buildPlayMoney
		}
		o, err := options()
		if err != nil {
			return nil, err
		}
		p, err := wechatpay.New(o)
		if err != nil {
			return nil, err
		}
		s.back.onClose(p.Close)
		return p, nil
	case config.ProviderAlipay:
		p, err := s.buildAlipay()
		if err != nil {
			return nil, err
		}
		s.back.onClose(p.Close)
		return p, nil
	}
	return withdraw.Wallet{}, nil
}

// buildPayer builds the payer of withdrawals.
func (s *Server) buildPayer() error {
	if s.cfg.DemoPayments {
		s.cfg.Provider, s.cfg.WeChatPay.AppID = config.ProviderWeChat, playApp
	}
	provider, err := s.buildProvider()
	if err != nil {
		return fmt.Errorf("the payment provider: %w", err)
	}
	s.notified, _ = provider.(api.NotifiedProvider)
	s.provider = &providerStart{
		approvals: s.ledger.Approvals, receiver: provider.Receiver().String(),
		named: s.cfg.OperatorsFile != "" || s.cfg.OIDCIssuer != "",
		alarm: s.bus.Alarm, recoverer: s.recoverer, log: s.log,
	}
	limits := ledger.ReceiverLimits{Rate: s.cfg.ProviderRate, InFlight: s.cfg.ProviderFlight}
	o := withdraw.PayerOptions{
		Attempts: s.cfg.PayoutAttempts, Timeout: s.cfg.ProviderTimeout, Recoverer: s.recoverer, Log: s.log,
		Registerer: s.metrics, Clock: s.clock.Now,
		OnAlarm: func(w ledger.Withdrawal, message string) { s.bus.Alarm("withdrawal", "", w.ID+": "+message) },
		OnNews:  s.newsOfWithdrawal,
	}
	if s.payeeKind() != "" { // both providers accept 100 requests a second
		limits.Rate = cmp.Or(limits.Rate, wechatpay.Rate)
		o.PollRate, o.Concurrency = min(wechatpay.PollRate, limits.Rate/2), 32
	}
	s.payer = withdraw.NewPayer(s.ledger.Withdrawals.Paced(limits), provider, o)
	return nil
}

// weChatOptions returns the settings of WeChat Pay. Validate has read the files before.
func (s *Server) weChatOptions() (o wechatpay.Options, err error) {
	c := s.cfg.WeChatPay
	key, err := rsakeys.Read(c.KeyFile, rsakeys.Private)
	if err != nil {
		return o, fmt.Errorf("--wechat-key-file: %w", err)
	}
	o = wechatpay.Options{Endpoint: c.Endpoint, MchID: c.MchID, AppID: c.AppID, Key: key, KeySerial: c.KeySerial,
		APIv3Key: s.newest.of("wechat-apiv3-key", c.APIv3Key), SceneID: c.SceneID, Remark: c.Remark,
		NotifyURL: s.cfg.NotifyURL(config.ProviderWeChat, c.NotifyURL), Clock: s.clock.Now}
	if o.Scene, err = c.Scene(); err != nil {
		return o, err
	}
	for i, path := range c.PublicKeyFiles {
		public, err := rsakeys.Read(path, rsakeys.Public)
		if err != nil {
			return o, fmt.Errorf("--wechat-public-key-file: %w", err)
		}
		o.PublicKeys = append(o.PublicKeys, wechatpay.PublicKey{ID: c.PublicKeyIDs[i], Key: public})
	}
	return o, nil
}

// buildAlipay builds the provider of Alipay. Validate has read the files before.
func (s *Server) buildAlipay() (*alipay.Provider, error) {
	c := s.cfg.Alipay
	key, err := rsakeys.Read(c.KeyFile, rsakeys.Private)
	if err != nil {
		return nil, fmt.Errorf("--alipay-key-file: %w", err)
	}
	public, err := rsakeys.Read(c.PublicKeyFile, rsakeys.Public)
	if err != nil {
		return nil, fmt.Errorf("--alipay-public-key-file: %w", err)
	}
	return alipay.New(alipay.Options{Endpoint: c.Endpoint, AppID: c.AppID, Key: key, PublicKey: public, Title: c.Title,
		NotifyURL: s.cfg.NotifyURL(config.ProviderAlipay, c.NotifyURL), Clock: s.clock.Now})
}

// payeeKind returns the kind of payees of the provider; "" if it needs none.
func (s *Server) payeeKind() string {
	switch s.cfg.Provider {
	case config.ProviderWeChat:
		return ledger.WeChatPayees(s.cfg.WeChatPay.AppID)
	case config.ProviderAlipay:
		return ledger.AlipayPayees
	}
	return ""
}

// leastOutside is the smallest payment of WeChat Pay and of Alipay, in fen.
const leastOutside rain.Money = 10

// playerLimits returns the limits of players' withdrawals.
func (s *Server) playerLimits() ledger.PlayerLimits {
	limits := ledger.PlayerLimits{
		Least: rain.Money(s.cfg.WithdrawMin), PerDay: rain.Money(s.cfg.WithdrawPerDay),
		PerHour: s.cfg.WithdrawPerHour, NoGuests: !s.cfg.GuestsMayWithdraw(),
	}
	if s.cfg.ReviewAbove != nil {
		limits.Review = new(rain.Money(*s.cfg.ReviewAbove))
	}
	if s.payeeKind() != "" {
		limits.Least = max(limits.Least, leastOutside)
	}
	if s.cfg.Provider == config.ProviderWeChat {
		limits.Most = wechatpay.MostUnnamed
	}
	return limits
}

// newsOfWithdrawal notifies a player of a withdrawal. If that fails, the player sees it on the next request.
func (s *Server) newsOfWithdrawal(id string) {
	if err := s.tellWithdrawn(id); err != nil {
		s.log.Warn("notify a player of a withdrawal; the page shows it when it is loaded again", "withdrawal", id,
			"err", err)
	}
}

// tellWithdrawn notifies all nodes of a withdrawal's state in the ledger. It has a time limit instead of a context: the
// payer waits for it, in a shutdown too.
func (s *Server) tellWithdrawn(id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout.Backend)
	defer cancel()
	w, err := s.ledger.Withdrawals.Withdrawal(ctx, id)
	if err != nil {
		return err
	}
	balance, err := s.ledger.Claims.UserBalance(ctx, w.User)
	if err != nil {
		return err
	}
	return s.bus.Withdrawn(cluster.Withdrawn{Withdrawal: cluster.WithdrawalView(w), Balance: balance})
}
