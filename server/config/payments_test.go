package config

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redrain/internal/testenv"
)

// writeKeys writes a private key and its public key, and returns their paths.
func writeKeys(t *testing.T) (private, public string) {
	t.Helper()
	dir := t.TempDir()
	private, public = filepath.Join(dir, "key.pem"), filepath.Join(dir, "public.pem")
	key := testenv.Got(rsa.GenerateKey(rand.Reader, 2048)).Must(t)
	for path, block := range map[string]pem.Block{
		private: {Type: "PRIVATE KEY", Bytes: testenv.Got(x509.MarshalPKCS8PrivateKey(key)).Must(t)},
		public:  {Type: "PUBLIC KEY", Bytes: testenv.Got(x509.MarshalPKIXPublicKey(&key.PublicKey)).Must(t)},
	} {
		testenv.Must(t, os.WriteFile(path, pem.EncodeToMemory(&block), 0o600))
	}
	return private, public
}

// TestPaymentProvidersNameEachFault: sound settings have none, and each missing or wrong one has one with its flag.
func TestPaymentProvidersNameEachFault(t *testing.T) {
	private, public := writeKeys(t)
	for flag, spoil := range map[string]func(c *Config){
		"":                             func(*Config) {},
		"--wechat-mch-id":              func(c *Config) { c.WeChatPay.MchID = "" },
		"--wechat-app-id":              func(c *Config) { c.WeChatPay.AppID = "wx 1" },
		"--wechat-key-serial":          func(c *Config) { c.WeChatPay.KeySerial = "" },
		"--wechat-scene-id":            func(c *Config) { c.WeChatPay.SceneID = "" },
		"--wechat-key-file":            func(c *Config) { c.WeChatPay.KeyFile = public },
		"--wechat-apiv3-key":           func(c *Config) { c.WeChatPay.APIv3Key = "short" },
		"--wechat-public-key-file and": func(c *Config) { c.WeChatPay.PublicKeyIDs = nil },
		"--wechat-public-key-file:":    func(c *Config) { c.WeChatPay.PublicKeyFiles = []string{private} },
		"--wechat-scene-report":        func(c *Config) { c.WeChatPay.SceneReport = []string{"活动名称"} },
		"--wechat-remark":              func(c *Config) { c.WeChatPay.Remark = strings.Repeat("红", 33) },
		"--wechat-notify-url: give":    func(c *Config) { c.WeChatPay.NotifyURL = "http://rain.example/n" },
		"--wechat-notify-url: leave":   func(c *Config) { c.WeChatPay.NotifyURL = "https://rain.example/n?a=b" },
		"--wechat-endpoint":            func(c *Config) { c.WeChatPay.Endpoint = "http://api.example" },
		"--demo-payments":              func(c *Config) { c.DemoPayments = true },
		"--review-above":               func(c *Config) { c.ReviewAbove = new(int64(-1)) },
		"--alipay-app-id":              func(c *Config) { c.Provider, c.Alipay.AppID = ProviderAlipay, "" },
		"--alipay-key-file":            func(c *Config) { c.Provider, c.Alipay.KeyFile = ProviderAlipay, "" },
		"--alipay-public-key-file": func(c *Config) {
			c.Provider, c.Alipay.PublicKeyFile = ProviderAlipay, private
		},
	} {
		c := Default()
		c.Provider = ProviderWeChat
		w, a := &c.WeChatPay, &c.Alipay
		w.MchID, w.AppID, w.KeySerial, w.SceneID = "1900000109", "wxd678efh567hg6787", "5157F0", "1000"
		w.KeyFile, w.APIv3Key = private, strings.Repeat("k", 32)
		w.PublicKeyFiles, w.PublicKeyIDs = []string{public}, []string{"PUB_KEY_ID_1"}
		w.SceneReport = []string{"活动名称=红包雨, 十月"}
		a.AppID, a.KeyFile, a.PublicKeyFile = "2021000000000000", private, public
		spoil(&c)
		faults := c.Validate()
		if (len(faults) > 0) != (flag != "") || len(faults) > 1 ||
			flag != "" && !strings.Contains(faults[0].Error(), flag) {
			t.Errorf("%s: %v", flag, faults)
		}
	}
}

// TestNotifyURL: the flag, else the public address, else none.
func TestNotifyURL(t *testing.T) {
	for public, want := range map[string]string{
		"https://rain.example/": "https://rain.example/api/v1/providers/wechat/notifications",
		"":                      "", "http://rain.example": "",
	} {
		c := Config{PublicURL: public}
		testenv.Equal(t, c.NotifyURL(ProviderWeChat, ""), want, "of %q", public)
		testenv.Equal(t, c.NotifyURL(ProviderWeChat, "https://n.example"), "https://n.example", "of %q", public)
	}
}
