package config

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"redrain/internal/testenv"
)

const testJWTSecret = "a secret that is long enough for HS256"

const testProviderSecret = "whsec_cmVkcmFpbi10ZXN0LXNlY3JldC1vZi0zMi1ieXRlcyE="

// TestValidateNamesEachFault spoils one setting at a time and expects one fault with its flag.
func TestValidateNamesEachFault(t *testing.T) {
	for flag, spoil := range map[string]func(*Config){
		"--listen":                            func(c *Config) { c.Listen = "8080" },
		"--redis":                             func(c *Config) { c.Redis = "a:1,b" },
		"--nats":                              func(c *Config) { c.NATS = "localhost" },
		"--nats-creds and --nats-nkey: give":  func(c *Config) { c.NATSCreds, c.NATSNkey = "a", "b" },
		"--nats-creds and --nats-nkey: need":  func(c *Config) { c.NATS, c.NATSCreds = "", "a" },
		"--nats-creds and --nats-nkey: leave": func(c *Config) { c.NATS, c.NATSNkey = "nats://u:p@h:4222", "a" },
		"--redis: give":                       func(c *Config) { c.Redis = "http://redis:6379" },
		"--mysql":                             func(c *Config) { c.MySQL = "user@tcp(host:3306)/" },
		"--mysql: leave out":                  func(c *Config) { c.MySQL = "user@tcp(host:3306)/rain?charset=gbk" },
		"--roles":                             func(c *Config) { c.Roles = []string{"gateway", "king"} },
		"--roles: without":                    func(c *Config) { c.NATS, c.Roles = "", []string{RoleGateway} },
		"--operator-token":                    func(c *Config) { c.OperatorToken = "" },
		"--operator-token: give one line of at least 16": func(c *Config) { c.OperatorToken = "only-fifteen-ch" },
		"--viewer-token: give one line of at least 16":   func(c *Config) { c.ViewerToken = "viewer" },
		"--jwt-secret":                   func(c *Config) { c.JWTSecret = "" },
		"--jwt-secret: give at least 32": func(c *Config) { c.JWTSecret = strings.Repeat("s", 31) },
		"--jwt-secret: give one secret":  func(c *Config) { c.JWTSecret = strings.Repeat(testJWTSecret+"\n", 3) },
		"--payout-name: give":            func(c *Config) { c.PayoutName = "your\u202ewallet" },
		"--jwks-url":                     func(c *Config) { c.JWKSURL = "keys" },
		"--oidc-issuer: give": func(c *Config) {
			c.OIDCIssuer, c.OIDCAudience = "http://id.example", "console"
		},
		"--oidc-issuer: give a URL without a query": func(c *Config) {
			c.OIDCIssuer, c.OIDCAudience = "https://id.example?realm=staff", "console"
		},
		"--oidc-audience":         func(c *Config) { c.OIDCIssuer = "https://id.example" },
		"--oidc-issuer: required": func(c *Config) { c.OIDCAudience = "console" },
		"--oidc-roles": func(c *Config) {
			c.OIDCIssuer, c.OIDCAudience, c.OIDCRoles = "https://id.example", "console", []string{"cash=king"}
		},
		"--second-person-above":                 func(c *Config) { c.SecondPersonAbove = new(int64(-1)) },
		"--viewer-token":                        func(c *Config) { c.ViewerToken = c.OperatorToken },
		"--confirm":                             func(c *Config) { c.Confirm = "hope" },
		"--data-dir":                            func(c *Config) { c.DataDir = "/tmp" },
		"--tap-rate":                            func(c *Config) { c.TapRate = -1 },
		"--connections-per-address":             func(c *Config) { c.PerAddress = -1 },
		"--connections-per-user":                func(c *Config) { c.PerUser = -1 },
		"--max-connections":                     func(c *Config) { c.MaxConnections = 0 },
		"--payout-attempts":                     func(c *Config) { c.PayoutAttempts = 0 },
		"--provider ":                           func(c *Config) { c.Provider = "bank" },
		"--provider-url, --provider-secret and": func(c *Config) { c.ProviderURL = "https://pay.example" },
		"--admin-listen \"":                     func(c *Config) { c.AdminListen = "9090" },
		"--admin-listen: must":                  func(c *Config) { c.AdminListen = c.Listen },
		"--tls-cert":                            func(c *Config) { c.TLSCert = "cert.pem" },
		"--trusted-proxies":                     func(c *Config) { c.Proxies = []string{"lb"} },
		"--public-url":                          func(c *Config) { c.PublicURL = "https://rain.example/play" },
		"--avatar-hosts": func(c *Config) {
			c.ShowNames, c.AvatarHosts = new(true), []string{"https://a.example"}
		},
		"--avatar-hosts: needs":     func(c *Config) { c.AvatarHosts = []string{"a.example"} },
		"--verify-files":            func(c *Config) { c.VerifyFiles = []string{"index.html"} },
		"--wechat-sign-url":         func(c *Config) { c.WeChatSign = "http://sign.example/" },
		"--wechat-sdk-url":          func(c *Config) { c.WeChatSign, c.WeChatSDK = "https://s.example/", "//x.com" },
		"--wechat-login-app-id and": func(c *Config) { c.WeChatLoginSecret = "s" },
		"--wechat-mini-app-id and":  func(c *Config) { c.WeChatMiniAppID = "wx1" },
		"--wechat-mini-app-id: give": func(c *Config) {
			c.WeChatMiniAppID, c.WeChatMiniSecret = "wx1:o", "s"
		},
		"--wechat-login-endpoint":          func(c *Config) { c.WeChatLoginEndpoint = "http://api.weixin.qq.com" },
		"--login-return":                   func(c *Config) { c.LoginReturn = []string{"https://a.example/?x=1"} },
		"--player-oidc-issuer: required":   func(c *Config) { c.PlayerOIDCClientID = "game" },
		"--player-oidc-issuer: give":       func(c *Config) { playerOIDC(c).PlayerOIDCIssuer = "http://id.example" },
		"--player-oidc-client-id":          func(c *Config) { playerOIDC(c).PlayerOIDCClientID = "" },
		"--public-url: required":           func(c *Config) { playerOIDC(c).PublicURL = "" },
		"--jwt-secret: required with play": func(c *Config) { playerOIDC(c).JWTSecret, c.JWKSURL = "", "https://a.cn" },
		"--proxy-protocol":                 func(c *Config) { c.ProxyProtocol = true },
		"--jwt-max-life":                   func(c *Config) { c.JWTMaxLife = -1 },
		"--provider-url: give": func(c *Config) {
			c.Provider, c.ProviderURL, c.ProviderSecret = "http", "http://pay.example", testProviderSecret
		},
		"--provider-secret: a": func(c *Config) {
			c.Provider, c.ProviderURL, c.ProviderSecret = "http", "https://pay.example", "hunter2"
		},
		"--provider-rate":     func(c *Config) { c.ProviderRate = -1 },
		"--provider-inflight": func(c *Config) { c.ProviderFlight = -1 },
		"--withdraw-min":      func(c *Config) { c.WithdrawMin = -1 },
		"--withdraw-per-hour": func(c *Config) { c.WithdrawPerHour = -1 },
		"--withdraw-per-day":  func(c *Config) { c.WithdrawMin, c.WithdrawPerDay = 100, 99 },
		"--provider-timeout":  func(c *Config) { c.ProviderTimeout = time.Millisecond },
		"--reconcile-share":   func(c *Config) { c.ReconcileShare = 1.1 },
		"--reconcile-every":   func(c *Config) { c.ReconcileEvery = time.Millisecond },
		"--drain-timeout":     func(c *Config) { c.DrainTimeout = 0 },
		"--allowed-origins \"https://a.example:443\": leave": func(c *Config) {
			c.AllowedOrigins = []string{"https://a.example:443"}
		},
		"--alarm-secret and --alarm-format: they": func(c *Config) { c.AlarmFormat = "feishu" },
		"--alarm-format":    func(c *Config) { c.AlarmURL, c.AlarmFormat = "https://a.example", "smoke" },
		"--alarm-secret: a": func(c *Config) { c.AlarmURL = "https://a.example" },
		"--alarm-url: give": func(c *Config) {
			c.AlarmURL, c.AlarmSecret = "http://a.example", testProviderSecret
		},
		"--allowed-origins": func(c *Config) { c.AllowedOrigins = []string{"example.com"} },
		"--frame-ancestors": func(c *Config) { c.FrameAncestors = []string{"https://a.example;script-src"} },
		"--namespace":       func(c *Config) { c.Namespace = "{}" },
		"--guests": func(c *Config) {
			c.Guests, c.JWTSecret, c.JWKSURL = new(true), "", "https://keys.example/jwks"
		},
	} {
		c := Default()
		c.Redis, c.NATS, c.MySQL = "redis:6379", "nats://nats:4222", "u:p@tcp(db:3306)/redrain"
		c.OperatorToken, c.JWTSecret = "sixteen-chars-ok", testJWTSecret
		if faults := c.Validate(); len(faults) > 0 {
			t.Fatalf("the sound configuration: %v", faults)
		}
		spoil(&c)
		faults := c.Validate()
		if len(faults) != 1 || !strings.Contains(faults[0].Error(), flag) {
			t.Errorf("%s: %v", flag, faults)
		}
	}
}

// TestSecretsAreLongInProcessToo: anyone on the network can guess at a server with in-process back ends.
func TestSecretsAreLongInProcessToo(t *testing.T) {
	c := Default()
	c.OperatorToken, c.ViewerToken, c.JWTSecret = "operator", "viewer", "secret"
	text := fmt.Sprint(errors.Join(c.Validate()...))
	for _, flag := range []string{"--operator-token", "--viewer-token", "--jwt-secret"} {
		testenv.Contains(t, text, flag+": give", "the faults")
	}
}

// TestReread: a changed file is held to all rules, and nothing of it is in the error.
func TestReread(t *testing.T) {
	c := Default()
	c.ViewerToken, c.SecretFiles = "the viewer's token", map[string]string{"operator-token": t.TempDir() + "/token"}
	for _, row := range [][2]string{
		{" the operator's token\r\n", ""}, {"", "is empty"}, {"hunter2", "at least 16"},
		{c.ViewerToken, "must differ"},
	} {
		text, want := row[0], row[1]
		testenv.Must(t, os.WriteFile(c.SecretFiles["operator-token"], []byte(text), 0o600))
		got, err := c.Reread("operator-token")
		if want == "" {
			testenv.Equal(t, testenv.Got(got, err).Must(t), "the operator's token", "%q", text)
			continue
		}
		testenv.WantFail(t, err, "%q", text)
		testenv.Contains(t, fmt.Sprint(err), want, "%q", text)
		if strings.Contains(fmt.Sprint(err), "hunter2") {
			t.Errorf("%q: the error has the secret: %v", text, err)
		}
	}
	testenv.Equal(t, c.OperatorToken, "", "the configuration's own token")
}

// TestConfirmMode checks the default: the stream if it is kept on disk.
func TestConfirmMode(t *testing.T) {
	for _, tc := range []struct{ given, dir, want string }{
		{"", "", "redis"}, {"", "data", "stream"}, {"redis", "data", "redis"}, {"stream", "", "stream"},
	} {
		c := Default()
		c.Confirm, c.DataDir = tc.given, tc.dir
		if got := c.ConfirmMode(); got != tc.want || len(c.Validate()) > 0 {
			t.Errorf("%+v: %s, %v", tc, got, c.Validate())
		}
	}
}

// TestRiskSettings: a risk system is asked safely or not at all, and no fault repeats a password.
func TestRiskSettings(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		flag   string // that the fault names; "": there is none
	}{
		"nothing":         {func(c *Config) { c.RiskURL, c.RiskSecret = "", "" }, ""},
		"on this machine": {func(c *Config) { c.RiskURL = "http://127.0.0.1:9/hunter2" }, ""},
		"not safe":        {func(c *Config) { c.RiskURL = "http://risk.example/hunter2" }, "--risk-url"},
		"no secret":       {func(c *Config) { c.RiskSecret = "" }, "--risk-secret"},
		"a bad secret":    {func(c *Config) { c.RiskSecret = "hunter2" }, "--risk-secret"},
		"no address":      {func(c *Config) { c.RiskURL = "" }, "--risk-secret"},
		"nobody is asked": {func(c *Config) { c.Risk = RiskOff }, "--risk-url"},
		"no default":      {func(c *Config) { c.RiskDefault = "maybe" }, "--risk-default"},
		"posted late":     {func(c *Config) { c.RiskWait = 6 * time.Second }, "--risk-wait"},
		"posted early":    {func(c *Config) { c.RiskWait = -1 }, "--risk-wait"},
	} {
		cfg := Default()
		cfg.RiskURL, cfg.RiskSecret = "https://user:hunter2@risk.example/", testProviderSecret
		c.change(&cfg)
		text := fmt.Sprint(errors.Join(cfg.Validate()...))
		if (c.flag == "") != (text == "<nil>") || !strings.Contains(text, c.flag) || strings.Contains(text, "hunter2") {
			t.Errorf("%s: %q", name, text)
		}
	}
}

var update = flag.Bool("update", false, "write the generated pages anew")

// TestReferenceIsFresh compares the pages about settings with the tags that they are made from.
func TestReferenceIsFresh(t *testing.T) {
	const begin, end = "<!-- settings: generated from server/config -->\n", "<!-- /settings -->"
	readme, err := os.ReadFile("../../README.md")
	testenv.Must(t, err)
	before, rest, found := strings.Cut(string(readme), begin)
	_, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		t.Fatal("the README has no place for the table of settings")
	}
	for name, want := range map[string]string{
		"../../docs/use/settings.md": Reference(), "../../docs/use/redrain.yaml": Sample(),
		"../../README.md": before + begin + MainTable() + end + after,
	} {
		if *update {
			testenv.Must(t, os.WriteFile(name, []byte(want), 0o644))
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s is not fresh (%v): go generate ./server/config", name, err)
		}
	}
}

// playerOIDC gives a configuration an identity provider of players.
func playerOIDC(c *Config) *Config {
	c.PlayerOIDCIssuer, c.PlayerOIDCClientID, c.PublicURL = "https://id.example", "game", "https://rain.example"
	return c
}
