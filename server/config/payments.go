package config

import (
	"fmt"
	"regexp"
	"strings"

	"redrain/internal/rsakeys"
	"redrain/internal/signed"
	"redrain/payout/withdraw/wechatpay"
)

// wechatID matches the ids of merchants, apps, certificates and scenes.
var wechatID = regexp.MustCompile(`^[0-9A-Za-z_-]{1,64}$`)

func (w *WeChatPay) validate(fault faultFunc) {
	for flag, value := range map[string]string{"mch-id": w.MchID, "app-id": w.AppID, "key-serial": w.KeySerial,
		"scene-id": w.SceneID} {
		fault(!wechatID.MatchString(value), "--wechat-%s: required with --provider wechat: letters and digits", flag)
	}
	err := signed.CheckURL(w.Endpoint)
	fault(err != nil, "--wechat-endpoint: %w", err)
	_, err = rsakeys.Read(w.KeyFile, rsakeys.Private)
	fault(err != nil, "--wechat-key-file: %w", err)
	fault(len(w.APIv3Key) != 32, "--wechat-apiv3-key: give the 32 characters of the merchant platform")
	fault(len(w.PublicKeyFiles) == 0 || len(w.PublicKeyFiles) != len(w.PublicKeyIDs),
		"--wechat-public-key-file and --wechat-public-key-id: give one or two pairs")
	for _, path := range w.PublicKeyFiles {
		_, err := rsakeys.Read(path, rsakeys.Public)
		fault(err != nil, "--wechat-public-key-file: %w", err)
	}
	_, err = w.Scene()
	fault(err != nil, "--wechat-scene-report: %w", err)
	fault(w.Remark == "" || len([]rune(w.Remark)) > 32, "--wechat-remark: give 1 to 32 characters")
	checkNotifyURL(fault, "--wechat-notify-url", w.NotifyURL)
}

// Scene returns the reports of --wechat-scene-report.
func (w *WeChatPay) Scene() (reports []wechatpay.Info, err error) {
	for _, text := range w.SceneReport {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" || value == "" {
			return nil, fmt.Errorf("%q is not NAME=VALUE", text)
		}
		reports = append(reports, wechatpay.Info{Type: name, Content: value})
	}
	return reports, nil
}

func (a *Alipay) validate(fault faultFunc) {
	fault(!wechatID.MatchString(a.AppID), "--alipay-app-id: required with --provider alipay: letters and digits")
	err := signed.CheckURL(a.Endpoint)
	fault(err != nil, "--alipay-endpoint: %w", err)
	_, err = rsakeys.Read(a.KeyFile, rsakeys.Private)
	fault(err != nil, "--alipay-key-file: %w", err)
	_, err = rsakeys.Read(a.PublicKeyFile, rsakeys.Public)
	fault(err != nil, "--alipay-public-key-file: %w", err)
	checkNotifyURL(fault, "--alipay-notify-url", a.NotifyURL)
}

func checkNotifyURL(fault faultFunc, flag, address string) {
	err := signed.CheckURL(address)
	fault(address != "" && err != nil, "%s: %w", flag, err)
	fault(strings.Contains(address, "?"), "%s: leave out the query, which providers do not allow", flag)
}

// NotifyURL returns the address for a provider's notifications; "" if there is none. A set one is preferred.
func (c *Config) NotifyURL(provider, set string) string {
	if set != "" || signed.CheckURL(c.PublicRoot()) != nil {
		return set
	}
	return c.PublicRoot() + "/api/v1/providers/" + provider + "/notifications"
}
