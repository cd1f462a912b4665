package cli_test

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redrain/internal/cli"
	"redrain/internal/testenv"
	"redrain/server/config"
)

func TestDefaultsAreTheServers(t *testing.T) {
	for _, args := range [][]string{nil, {"serve"}} {
		if diff := cmp.Diff(config.Default(), configured(t, nil, args...)); diff != "" {
			t.Errorf("redrain %v (-want +got):\n%s", args, diff)
		}
	}
}

var everySetting = map[string]string{
	"listen": "127.0.0.1:9000", "redis": "r1:6379,r2:6379", "nats": "nats://n:4222", "nats-creds": "user.creds",
	"mysql": "u:p@tcp(m:3306)/redrain",
	"roles": "gateway,relay", "operator-token": "op-0123456789abc", "viewer-token": "view-0123456789a",
	"operators-file": "operators.yaml", "second-person-above": "7000",
	"oidc-issuer": "https://id.example", "oidc-audience": "console", "oidc-roles-claim": "groups",
	"oidc-roles": "cash=cashier,boss=admin", "oidc-name-claim": "name",
	"jwt-secret": "a secret that is long enough for HS256",
	"jwks-url":   "https://id.example/keys", "jwt-audience": "redrain", "jwt-issuer": "https://id.example",
	"jwt-max-life": "48h", "admin-listen": "127.0.0.1:9090", "tls-cert": "cert.pem", "tls-key": "key.pem",
	"public-url": "https://rain.example", "verify-files": "MP_verify_a.txt,b.txt",
	"wechat-sign-url":     "https://sign.example/js?v=1",
	"wechat-sdk-url":      "https://res2.wx.qq.com/open/js/jweixin-1.6.0.js",
	"wechat-login-app-id": "wx1", "wechat-login-secret": "s1", "wechat-mini-app-id": "wx2", "wechat-mini-secret": "s2",
	"wechat-login-endpoint": "https://sh.api.weixin.qq.com", "login-return": "https://shop.example/play",
	"player-oidc-issuer": "https://login.example", "player-oidc-client-id": "game", "player-oidc-client-secret": "s3",
	"trusted-proxies": "10.0.0.0/8,192.0.2.7", "proxy-protocol": "true",
	"address-guests": "30", "address-seats": "20", "address-wins": "0.25",
	"address-exempt": "10.1.0.0/16,2001:db8::/32",
	"show-names":     "true", "avatar-hosts": "a.example,*.b.example",
	"guests": "true", "confirm": "stream", "tap-rate": "5", "hello-rate": "1.5", "guest-rate": "0",
	"max-connections": "7", "connections-per-address": "8", "connections-per-user": "3", "arrivals-per-second": "9",
	"guest-challenge": "hcaptcha", "challenge-work": "5000", "challenge-site-key": "site",
	"challenge-secret": "0x1", "challenge-endpoint": "https://v.example/x",
	"challenge-script": "https://v.example/x.js",
	"allowed-origins":  "https://a.example, *", "frame-ancestors": "https://b.example",
	"payout-attempts": "3", "reconcile-every": "7s",
	"reconcile-share": "0.5", "demo": "false", "drain-timeout": "5s", "drain-delay": "3s", "backend-wait": "1m30s",
	"namespace": "test", "provider": "http", "provider-url": "https://pay.example/x",
	"provider-secret": "whsec_cmVkcmFpbi10ZXN0LXNlY3JldC1vZi0zMi1ieXRlcyE=", "provider-timeout": "3s",
	"provider-account": "acme", "payout-name": "WeChat", "provider-rate": "14.5",
	"provider-inflight": "6", "withdraw-min": "100", "withdraw-per-day": "20000", "withdraw-per-hour": "4",
	"review-above": "5000", "wechat-endpoint": "https://api2.mch.weixin.qq.com", "wechat-mch-id": "1900000109",
	"wechat-app-id": "wxd678efh567hg6787", "wechat-key-file": "key.pem", "wechat-key-serial": "5157F0",
	"wechat-apiv3-key": "0123456789abcdef0123456789ABCDEF", "wechat-public-key-file": "a.pem,b.pem",
	"wechat-public-key-id": "PUB_KEY_ID_1,PUB_KEY_ID_2", "wechat-scene-id": "1000",
	"wechat-scene-report": "活动名称=红包雨, 十月", "wechat-remark": "提现", "wechat-notify-url": "https://n.example/w",
	"alipay-endpoint": "https://alipay.example/gateway.do", "alipay-app-id": "2021000000000000",
	"alipay-key-file": "app.pem", "alipay-public-key-file": "ali.pem", "alipay-title": "提现",
	"alipay-notify-url": "https://n.example/a",
	"guests-withdraw":   "true", "audit-root-file": "roots.jsonl",
	"alarm-url": "https://oapi.dingtalk.com/robot/send?access_token=x", "alarm-format": "dingtalk",
	"alarm-secret": "SEC1",
	"log-level":    "debug", "log-format": "json",
	"risk": "hold", "risk-wait": "700ms", "risk-hold-score": "50", "risk-deny-score": "90", "risk-fast-ms": "80",
	"risk-spread-ms": "9", "risk-taps": "7", "risk-winners": "11", "risk-chorus": "3", "risk-sessions": "4",
	"risk-url": "https://risk.example/x", "risk-secret": "whsec_cmVkcmFpbi10ZXN0LXNlY3JldC1vZi0zMi1ieXRlcyE=",
	"risk-timeout": "300ms", "risk-default": "hold",
}

// TestEverySettingFromEverySource gives each setting another value than its default, in each of the three ways.
func TestEverySettingFromEverySource(t *testing.T) {
	var args []string
	env, file := map[string]string{}, strings.Builder{}
	for name, text := range everySetting {
		args = append(args, "--"+name+"="+text)
		env["REDRAIN_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))] = text
		file.WriteString(name + ": '" + text + "'\n")
	}
	name := writeFile(t, file.String())
	want := configured(t, nil, args...)
	// --data-dir is refused beside three real back ends: TestDataDirFromEverySource. --nats-nkey is refused beside
	// --nats-creds, and --demo-payments beside real back ends. TestSecretFiles has the files.
	testenv.Equal(t, sameFields(reflect.ValueOf(config.Default()), reflect.ValueOf(want)),
		[]string{"SecretFiles", "NATSNkey", "DataDir", "DemoPayments"}, "not set by their flags")
	for source, got := range map[string]config.Config{
		"environment":    configured(t, env),
		"file":           configured(t, nil, "--config", name),
		"file by name":   configured(t, map[string]string{"REDRAIN_CONFIG": name}, "serve"),
		"flags of serve": configured(t, nil, append([]string{"serve"}, args...)...),
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", source, diff)
		}
	}
}

// The sample with every setting has the defaults, and "no" if a default depends on other settings.
func TestSampleHasTheDefaults(t *testing.T) {
	settings := regexp.MustCompile("(?m)^#([a-z])").ReplaceAllString(config.Sample(), "$1")
	want := config.Default()
	want.Guests, want.GuestsWithdraw, want.ShowNames = new(bool), new(bool), new(bool)
	want.SecondPersonAbove, want.ReviewAbove, want.DrainDelay = new(int64), new(int64), new(time.Duration)
	got := configured(t, nil, "--config", writeFile(t, settings))
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// sameFields are the names of the fields with equal values in two structs.
func sameFields(a, b reflect.Value) (names []string) {
	for i := range a.NumField() {
		if a.Field(i).Kind() == reflect.Struct {
			names = append(names, sameFields(a.Field(i), b.Field(i))...)
		} else if reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			names = append(names, a.Type().Field(i).Name)
		}
	}
	return names
}

func TestDataDirFromEverySource(t *testing.T) {
	for source, got := range map[string]config.Config{
		"flag":        configured(t, nil, "--data-dir", "/var/lib/redrain"),
		"environment": configured(t, map[string]string{"REDRAIN_DATA_DIR": "/var/lib/redrain"}),
		"file":        configured(t, nil, "--config", writeFile(t, "data-dir: /var/lib/redrain\n")),
	} {
		testenv.Equal(t, got.DataDir, "/var/lib/redrain", "%s", source)
	}
}

func TestPrecedence(t *testing.T) {
	file := writeFile(t, "tap-rate: 1\nhello-rate: 1\nguest-rate: 1\nguests: false\n")
	env := map[string]string{"REDRAIN_HELLO_RATE": "2", "REDRAIN_GUEST_RATE": "2", "REDRAIN_GUESTS": "true",
		"REDRAIN_LISTEN": ""}
	got := configured(t, env, "--config="+file, "--guest-rate=3", "--no-guests")
	if got.TapRate != 1 || got.HelloRate != 2 || got.GuestRate != 3 || got.Guests == nil || *got.Guests {
		t.Errorf("file 1, environment 2, flag 3: %v %v %v, guests %v", got.TapRate, got.HelloRate, got.GuestRate,
			got.Guests)
	}
	testenv.Equal(t, got.Listen, ":8080", "a variable set to nothing is taken")
	other := writeFile(t, "tap-rate: 9\n")
	testenv.Equal(t, configured(t, map[string]string{"REDRAIN_CONFIG": file}, "--config", other).TapRate, 9,
		"--config beats its variable")
}

const noAmount = `--%s: %q is not an amount: give yuan, such as 12.50, or fen, such as 1250fen`

// All faults are reported at once, one a line, with their sources, and nothing is started.
func TestFaults(t *testing.T) {
	tests := map[string]struct {
		args string
		env  map[string]string
		file string
		want []string
	}{
		"of every source": {
			args: "--bogus x --tap-rate=many --max-connections 99999999999999999999 --drain-timeout 30 " +
				"--demo=maybe --listen nope --also=1",
			env: map[string]string{"REDRAIN_HELLO_RATE": "NaN", "REDRAIN_LOG_LEVEL": "loud",
				"REDRAIN_LOG_FORMAT": "xml"},
			file: "tap-rate: 3\nguest-rate: fast\ncolour: red\npayout-attempts: [1, 2]\nbackend-wait:\n",
			want: []string{
				"unknown flag --bogus", "unknown flag --also",
				`--tap-rate: "many" is not a whole number`,
				`--max-connections: "99999999999999999999" is not a whole number that fits`,
				`--drain-timeout: "30" is not a duration such as 30s or 1h30m`,
				`--demo: "maybe" is not true or false`,
				`FILE line 3: there is no setting "colour"`, `FILE line 5: "backend-wait" has no value`,
				`--hello-rate: "NaN" is not a number (from REDRAIN_HELLO_RATE)`,
				`--guest-rate: "fast" is not a number (from FILE line 2)`,
				`--payout-attempts: "1,2" is not a whole number (from FILE line 4)`,
				`--log-level: "loud" is not one of debug, info, warn, error (from REDRAIN_LOG_LEVEL)`,
				`--log-format "xml": give one of text or json`,
				`--listen "nope": give host:port, for example :8080`,
			},
		},
		"of the server's own": {
			args: "--redis r:1 --confirm hope --tap-rate -5",
			want: []string{
				`--tap-rate "-5": give 0 (no limit) or more`,
				`--confirm "hope": give one of redis, replica or stream`,
				"--operator-token, --operators-file or --oidc-issuer: one is required with real back ends",
				"--jwt-secret or --jwks-url: one is required with real back ends, to verify players' tokens on " +
					"every node",
			},
		},
		"data-dir without a stand-in": {
			env: map[string]string{"REDRAIN_DATA_DIR": "x"},
			args: "--redis r:1 --nats nats://n:4222 --mysql u@tcp(m:3306)/db " +
				"--operator-token=0123456789abcdef --jwt-secret=01234567890123456789012345678901",
			want: []string{"--data-dir: has no effect if --redis, --nats and --mysql are all given; leave it out"},
		},
		"a replica of the stand-in": {
			args: "--confirm replica",
			want: []string{"--confirm replica: needs --redis; the in-process Redis has no replica"},
		},
		"a level between": {args: "--log-level info+2",
			want: []string{`--log-level: "info+2" is not one of debug, info, warn, error`}},
		"values missing": {args: "--redis --nats",
			want: []string{"--redis: needs a value", "--nats: needs a value"}},
		"value missing": {args: "--listen", want: []string{"--listen: needs a value"}},
		"almost a flag": {args: "--lisen=:1", want: []string{`unknown flag --lisen, did you mean "--listen"?`}},
		"short flags":   {args: "-xyz", want: []string{`unknown flag -x, did you mean "-h"?`}},
		"no such command": {args: "rains stop c1", want: []string{`there is no command "rains"; see redrain ` +
			`--help`}},
		"half a command":       {args: "rain", want: []string{`expected one of "start", "stop"`}},
		"no campaign":          {args: "watch", want: []string{`expected "<campaign>"`}},
		"an argument too many": {args: "serve now", want: []string{"unexpected argument now"}},
		"two too many": {args: "reconcile c1 c2 --bogus",
			want: []string{"unexpected argument c2", "unknown flag --bogus"}},
		"a flag of another": {args: "serve --user u1", want: []string{"unknown flag --user"}},
		"a flag of the wrong": {args: "--listen=:1 watch c1",
			want: []string{`flag --listen applies to the default command "serve", not "watch"`}},
		"key twice": {file: "demo: true\ndemo: false\n",
			want: []string{`FILE line 2: "demo" is there twice`}},
		"key of nothing": {file: "config: other.yml\nhelp: true\n",
			want: []string{`FILE line 1: there is no setting "config"`, `FILE line 2: there is no setting "help"`}},
		"nested": {file: "redis:\n  addr: r:1\nroles: [[gateway]]\n",
			want: []string{`FILE line 1: "redis" holds more than a plain value`,
				`FILE line 3: "roles" holds more than plain values`}},
		"not a mapping": {file: "- demo\n", want: []string{`FILE: the file is not a list of settings, one "name: ` +
			`value" on each line`}},
		"not YAML": {file: "a: b: c\n", want: []string{"FILE: yaml: mapping values are not allowed in this context"}},
		"two documents": {file: "demo: true\n---\ndemo: false\n",
			want: []string{"FILE: only one YAML document is read"}},
		"no such file": {args: "--config /no/such.yml --tap-rate=x",
			want: []string{`--tap-rate: "x" is not a whole number`,
				"--config /no/such.yml: no such file or directory"}},
		"server": {args: "watch c1 --server localhost",
			want: []string{"--server: the server's address is not like http://host:port"}},
		"create": {args: "campaign create --min=-1x --server=x", want: []string{
			fmt.Sprintf(noAmount, "min", "-1x"), "--name: required", "--sponsor: required", "--budget: required",
			"--packets: required", "--server: the server's address is not like http://host:port"}},
		"deposit": {args: "sponsor deposit acme --amount=0", want: []string{"--amount: required",
			"--reference: required"}},
		"no amount": {args: "campaign preview --budget 1e3 --packets 5 --min 0.001 --max 1,000.00", want: []string{
			fmt.Sprintf(noAmount, "budget", "1e3"), fmt.Sprintf(noAmount, "min", "0.001"),
			fmt.Sprintf(noAmount, "max", "1,000.00")}},
		"preview": {args: "campaign preview --max=x", want: []string{fmt.Sprintf(noAmount, "max", "x"),
			"--budget: required", "--packets: required"}},
		"amounts": {args: "campaign create --name=n --sponsor=s --budget=1.00 --packets=1 --amounts=1fen,x",
			want: []string{fmt.Sprintf(noAmount, "amounts", "x")}},
		"start": {args: "rain start c1 --starts-at noon --duration=x", want: []string{
			`--starts-at: "noon" is not a time such as 2026-02-17T20:00:00+08:00, or Unix milliseconds`,
			`--duration: "x" is not a duration such as 30s or 1h30m`}},
		"two starts": {args: "rain start c1 --starts-at 1 --starts-in 3s",
			want: []string{"--starts-in and --starts-at: give one of them"}},
		"token": {args: "token --ttl=0s", want: []string{"--user: required", `--ttl "0s": give 1ms or more`,
			"--jwt-secret: required, the same as the server's"}},
		"link": {args: "token --user=u1 --link --server=x", want: []string{
			"--server: the server's address is not like http://host:port",
			"--link: give --jwt-secret, the same as the server's, or an operator's --token"}},
		"migrate": {args: "migrate --backend-wait=0s", want: []string{"--mysql: required",
			`--backend-wait "0s": give 1ms or more`}},
		"migrate what": {args: "migrate --mysql=u:secret@tcp(h:3306)/",
			want: []string{"--mysql: name the database, as in user:password@tcp(host:3306)/redrain"}},
		"no purpose": {args: "list create vip --purpose maybe",
			want: []string{`--purpose must be one of "invite","deny" but got "maybe"`}},
		"no members": {args: "list add vip", want: []string{`expected "<members> ..."`}},
		"commitment": {args: "verify c1 --commitment ab",
			want: []string{"--commitment: belongs to one rain; say which with --rain"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			args := strings.Fields(tc.args)
			file := ""
			if tc.file != "" {
				file = writeFile(t, tc.file)
				args = append(args, "--config", file)
			}
			got := run(t, tc.env, args...)
			if got.code != cli.ExitUsage || got.stdout != "" {
				t.Errorf("exit %d, output %q", got.code, got.stdout)
			}
			var want []string
			for _, w := range tc.want {
				want = append(want, "redrain: "+strings.ReplaceAll(w, "FILE", file))
			}
			if diff := cmp.Diff(want, lines(got.stderr)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}
