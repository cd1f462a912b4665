package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"redrain/internal/sandbox/wechat"
	"redrain/payout/withdraw/wechatpay"
	"redrain/server/config"
)

// playMoney is the simulated WeChat Pay of --demo-payments, with keys and books of its own. Nothing of it leaves this
// process.
type playMoney struct {
	*wechat.Server

	listener net.Listener
	http     *http.Server
}

// playEvery is the interval at which the simulated WeChat Pay does its work.
const playEvery = 500 * time.Millisecond

// The names in the simulated WeChat Pay.
const (
	playMerchant = "1900000109"
	playApp      = "wxplaymoney"
	playSerial   = "PLAYMONEY"
	playKeyID    = "PUB_KEY_ID_PLAYMONEY"
	playScene    = "1000"
)

// buildPlayMoney starts the simulated WeChat Pay, and returns the options of its provider.
func (s *Server) buildPlayMoney() (o wechatpay.Options, err error) {
	var keys [2]*rsa.PrivateKey // the merchant's, and WeChat Pay's
	for i := range keys {
		if keys[i], err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
			return o, fmt.Errorf("make a key: %w", err)
		}
	}
	secret := strings.ToLower(rand.Text() + rand.Text())[:32]
	p := &playMoney{Server: wechat.New(wechat.Options{MchID: playMerchant, AppID: playApp, SceneID: playScene,
		Merchant: map[string]*rsa.PublicKey{playSerial: &keys[0].PublicKey}, APIv3Key: secret, KeyID: playKeyID,
		Key: keys[1], Clock: s.clock.Now})}
	p.http = &http.Server{Handler: p.Server, ReadHeaderTimeout: 5 * time.Second,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug)}
	var local net.ListenConfig
	if p.listener, err = local.Listen(context.Background(), "tcp", "127.0.0.1:0"); err != nil {
		return o, fmt.Errorf("listen for the simulated WeChat Pay: %w", err)
	}
	s.back.onClose(func() { _ = p.http.Close(); _ = p.listener.Close() })
	s.play = p
	s.cfg.PayoutName = cmp.Or(s.cfg.PayoutName, "模拟微信（演示资金）· simulated WeChat (play money)")
	s.log.Warn("withdrawals are paid with PLAY MONEY by a simulated WeChat Pay; players confirm them on its page",
		"page", wechat.PagePath)
	o = wechatpay.Options{Endpoint: "http://" + p.listener.Addr().String(), MchID: playMerchant, AppID: playApp,
		Key: keys[0], KeySerial: playSerial, APIv3Key: func() string { return secret }, SceneID: playScene,
		PublicKeys: []wechatpay.PublicKey{{ID: playKeyID, Key: &keys[1].PublicKey}}, Remark: "演示", Clock: s.clock.Now}
	if _, port, err := net.SplitHostPort(s.cfg.Listen); err == nil && port != "0" && s.cfg.TLSCert == "" {
		o.NotifyURL = "http://127.0.0.1:" + port + "/api/v1/providers/" + config.ProviderWeChat + "/notifications"
	}
	return o, nil
}

// run serves the simulated WeChat Pay until ctx ends.
func (p *playMoney) run(ctx context.Context) error {
	var serving sync.WaitGroup
	serving.Go(func() { _ = p.http.Serve(p.listener) }) // it ends with Close
	defer serving.Wait()
	err := p.Run(ctx, playEvery)
	_ = p.http.Close() // its requests come from this process only
	return err
}

// playPayee returns the payee of a guest with play money; nil otherwise.
func (s *Server) playPayee() func(user string) map[string]string {
	if s.play == nil {
		return nil
	}
	return func(user string) map[string]string {
		return map[string]string{config.ProviderWeChat: playApp + ":o-" + user}
	}
}
