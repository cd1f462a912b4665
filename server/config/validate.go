package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"redrain/grab/confirm"
	"redrain/internal/signed"
	"redrain/internal/sqldb"
	"redrain/server/clientip"
	"redrain/web"
)

var namespacePattern = regexp.MustCompile(`^[a-z0-9_-]{1,32}$`)

// Validate returns every fault of the configuration, each with the flag and what to do.
func (c *Config) Validate() []error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	c.checkTags(fault)
	c.validateFront(fault)
	c.validateBackends(fault)
	c.validateAccess(fault)
	c.validateOIDC(fault)
	c.validateProvider(fault)
	c.validateRisk(fault)
	c.validateNames(fault)
	if len(c.Roles) == 0 {
		fault("--roles: name at least one of %s", strings.Join(AllRoles, ", "))
	}
	if inProcess := c.Redis == "" || c.NATS == "" || c.MySQL == ""; inProcess && len(c.Roles) > 0 &&
		len(c.Roles) < len(AllRoles) {
		fault("--roles: without --redis, --nats or --mysql this process needs all roles; " +
			"no other process can reach its in-process back end")
	}
	if c.ConfirmMode() == confirm.Replica.String() && c.Redis == "" {
		fault("--confirm replica: needs --redis; the in-process Redis has no replica")
	}
	if !namespacePattern.MatchString(c.Namespace) {
		fault("--namespace %q: give 1 to 32 of a-z 0-9 _ -", c.Namespace)
	}
	return faults
}

// validateBackends repeats none of the values: each may contain a password.
func (c *Config) validateBackends(fault func(string, ...any)) {
	if c.DataDir != "" && c.Redis != "" && c.NATS != "" && c.MySQL != "" {
		fault("--data-dir: has no effect if --redis, --nats and --mysql are all given; leave it out")
	}
	if strings.Contains(c.Redis, "://") {
		if u, err := url.Parse(c.Redis); err != nil || (u.Scheme != "redis" && u.Scheme != "rediss") || u.Host == "" {
			fault("--redis: give host:port, several by commas, or a redis:// or rediss:// URL")
		}
	} else if c.Redis != "" {
		for a := range strings.SplitSeq(c.Redis, ",") {
			if _, _, err := net.SplitHostPort(strings.TrimSpace(a)); err != nil {
				fault("--redis: one of the addresses is not host:port")
			}
		}
	}
	for u := range strings.SplitSeq(c.NATS, ",") {
		if p, err := url.Parse(strings.TrimSpace(u)); c.NATS != "" &&
			(err != nil || p.Host == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, p.Scheme)) {
			fault("--nats: give a URL such as nats://host:4222, or several by commas")
		}
	}
	if c.MySQL != "" {
		if err := CheckMySQL(c.MySQL); err != nil {
			fault("%w", err)
		}
	}
}

// CheckMySQL returns the fault of a data source name, without the name: it may contain a password.
func CheckMySQL(dsn string) error {
	err := sqldb.CheckMySQL(dsn)
	if option, ok := errors.AsType[*sqldb.OptionError](err); ok {
		return fmt.Errorf("--mysql: %w", option)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sqldb.ErrNoDatabase):
		return errors.New("--mysql: name the database, as in user:password@tcp(host:3306)/redrain")
	default:
		return errors.New("--mysql: not a data source name; give user:password@tcp(host:3306)/database")
	}
}

// leastToken is the least length of a shared token with real back ends, in characters. Sixteen random characters
// cannot be guessed over the network.
const leastToken = 16

func (c *Config) validateShared(fault func(string, ...any)) {
	for _, shared := range []struct{ flag, token string }{
		{"operator", c.OperatorToken}, {"viewer", c.ViewerToken},
	} {
		if shared.token != "" && len(shared.token) < leastToken {
			fault("--%s-token: give at least %d characters, drawn at random (openssl rand -hex 16)", shared.flag,
				leastToken)
		}
	}
}

func (c *Config) validateAccess(fault func(string, ...any)) {
	if !c.InProcess() {
		c.validateShared(fault)
		if c.OperatorToken == "" && c.OperatorsFile == "" && c.OIDCIssuer == "" {
			fault("--operator-token, --operators-file or --oidc-issuer: one is required with real back ends")
		}
		if c.JWTSecret == "" && c.JWKSURL == "" {
			fault("--jwt-secret or --jwks-url: one is required with real back ends, to verify players' tokens on " +
				"every node")
		}
	}
	if c.OperatorToken != "" && c.OperatorToken == c.ViewerToken {
		fault("--viewer-token: must differ from --operator-token")
	}
	c.validateGuests(fault)
	if c.JWKSURL != "" {
		if u, err := url.Parse(c.JWKSURL); err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
			fault("--jwks-url: give an http or https URL")
		}
	}
	for _, o := range c.AllowedOrigins {
		if u, err := url.Parse(o); o != "*" && (err != nil || u.Scheme == "" || u.Host == "" || u.Path != "") {
			fault("--allowed-origins %q: give scheme://host[:port]", o)
		}
	}
}

// validateFront checks the addresses of the process and its trusted proxies.
func (c *Config) validateFront(fault func(string, ...any)) {
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		fault("--listen %q: give host:port, for example :8080", c.Listen)
	}
	if _, _, err := net.SplitHostPort(c.AdminListen); c.AdminListen != "" && err != nil {
		fault("--admin-listen %q: give host:port, for example 127.0.0.1:9090", c.AdminListen)
	}
	if c.AdminListen != "" && c.AdminListen == c.Listen {
		fault("--admin-listen: must differ from --listen")
	}
	c.validatePublic(fault)
	c.validateVerifyFiles(fault)
	c.validateWeChat(fault)
	if (c.TLSCert == "") != (c.TLSKey == "") {
		fault("--tls-cert and --tls-key: give both, or none")
	}
	if _, err := clientip.ParseProxies(c.Proxies); err != nil {
		fault("--trusted-proxies: %w", err)
	}
	if c.ProxyProtocol && len(c.Proxies) == 0 {
		fault("--proxy-protocol: name the proxies that may send its header in --trusted-proxies")
	}
}

// validatePublic checks the address that is shown outside. Paths of pages are appended to it, so it has no path.
func (c *Config) validatePublic(fault func(string, ...any)) {
	if c.PublicURL == "" {
		return
	}
	u, err := url.Parse(c.PublicURL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		fault("--public-url %q: give scheme://host[:port]", c.PublicURL)
	}
}

// validateWeChat checks the addresses that the player's page loads in WeChat's browser. They are https only: a script
// over plain http can be replaced in flight.
func (c *Config) validateWeChat(fault func(string, ...any)) {
	for _, asked := range []struct{ flag, address string }{
		{"--wechat-sign-url", c.WeChatSign}, {"--wechat-sdk-url", c.WeChatSDK},
	} {
		if c.WeChatSign == "" {
			return
		}
		u, err := url.Parse(asked.address)
		if err != nil || u.Scheme != "https" || u.User != nil || u.Fragment != "" || web.Origin(asked.address) == "" {
			fault("%s: give an https URL, without a user or a part after #", asked.flag)
		}
	}
}

// verifyName matches the name of a file that is served below "/". It allows text only: a page would run as one of ours.
var verifyName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\.txt$`)

func (c *Config) validateVerifyFiles(fault func(string, ...any)) {
	taken := map[string]bool{"licenses.txt": true}
	for _, path := range c.VerifyFiles {
		name := filepath.Base(path)
		if !verifyName.MatchString(name) {
			fault("--verify-files %q: a name has letters, digits, _, - and dots, and ends with .txt", name)
		} else if taken[name] {
			fault("--verify-files %q: there is another file of this name", name)
		}
		taken[name] = true
	}
}

// PublicRoot is PublicURL without a slash at its end.
func (c *Config) PublicRoot() string { return strings.TrimRight(c.PublicURL, "/") }

// maxProviderAccount is the longest --provider-account, in bytes.
const maxProviderAccount = 100

// maxPayoutName is the longest --payout-name, in bytes.
const maxPayoutName = 100

// validateProvider repeats neither the address nor the secret: both may contain a password.
func (c *Config) validateProvider(fault func(string, ...any)) {
	switch c.Provider {
	case ProviderWallet:
		if c.ProviderURL != "" || c.ProviderSecret != "" || c.ProviderAccount != "" {
			// With wallet, withdrawals count as paid and no provider is asked to pay them.
			fault("--provider-url, --provider-secret and --provider-account: they belong to --provider http; give " +
				"that too, or leave them out")
		}
	case ProviderHTTP:
		if err := signed.CheckURL(c.ProviderURL); err != nil {
			fault("--provider-url: %w", err)
		}
		if _, err := signed.ParseSecret(c.ProviderSecret); err != nil {
			fault("--provider-secret: %w; this makes one: echo whsec_$(openssl rand -base64 32)", err)
		}
		if len(c.ProviderAccount) > maxProviderAccount || strings.ContainsFunc(c.ProviderAccount, unicode.IsControl) {
			fault("--provider-account: give a name of at most %d bytes", maxProviderAccount)
		}
	}
	if len(c.PayoutName) > maxPayoutName || strings.ContainsFunc(c.PayoutName, unicode.IsControl) {
		fault("--payout-name: give a name of at most %d bytes", maxPayoutName)
	}
	if c.WithdrawPerDay > 0 && c.WithdrawPerDay < c.WithdrawMin {
		fault("--withdraw-per-day %d: it is less than --withdraw-min %d, so no player could withdraw", c.WithdrawPerDay,
			c.WithdrawMin)
	}
}

// validateRisk repeats neither the address nor the secret: both may contain a password.
func (c *Config) validateRisk(fault func(string, ...any)) {
	if l := c.RiskLimits; l.Deny > 0 && l.Deny < l.Hold {
		fault("--risk-deny-score %d: give 0 for never, or at least --risk-hold-score %d", l.Deny, l.Hold)
	}
	if c.RiskURL == "" {
		if c.RiskSecret != "" {
			fault("--risk-secret: it belongs to --risk-url; give that too, or leave it out")
		}
		return
	}
	if c.Risk == RiskOff {
		fault("--risk-url: not used with --risk off; give --risk watch (answers are recorded) or hold (answers are " +
			"applied)")
	}
	if err := signed.CheckURL(c.RiskURL); err != nil {
		fault("--risk-url: %w", err)
	}
	if _, err := signed.ParseSecret(c.RiskSecret); err != nil {
		fault("--risk-secret: %w; this makes one: echo whsec_$(openssl rand -base64 32)", err)
	}
}
