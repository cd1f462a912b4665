package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"redrain/grab/confirm"
	"redrain/grab/store"
	"redrain/internal/auth"
	"redrain/internal/signed"
	"redrain/internal/sqldb"
	"redrain/rain"
	"redrain/server/admission"
	"redrain/server/alarms"
	"redrain/server/clientip"
	"redrain/server/login"
	"redrain/server/names"
	"redrain/web"
)

var namespacePattern = regexp.MustCompile(`^[a-z0-9_-]{1,32}$`)

// faultFunc adds a fault if bad is true.
type faultFunc func(bad bool, format string, args ...any)

// Validate returns every fault of the configuration, each with the flag and what to do.
func (c *Config) Validate() []error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	for _, text := range CheckTags(c.flags()) {
		faults = append(faults, errors.New(text))
	}
	c.validateFront(fault)
	c.validateBackends(fault)
	c.validateAccess(fault)
	c.validateOIDC(fault)
	c.validateLogins(fault)
	c.validateProvider(fault)
	c.validateRisk(fault)
	c.validateAlarms(fault)
	fault(len(c.Roles) == 0, "--roles: name at least one of %s", strings.Join(AllRoles, ", "))
	fault((c.Redis == "" || c.NATS == "" || c.MySQL == "") && len(c.Roles) > 0 && len(c.Roles) < len(AllRoles),
		"--roles: without --redis, --nats or --mysql this process needs all roles; no other process can reach its "+
			"in-process back end")
	fault(c.ConfirmMode() == confirm.Replica.String() && c.Redis == "",
		"--confirm replica: needs --redis; the in-process Redis has no replica")
	fault(!namespacePattern.MatchString(c.Namespace), "--namespace %q: give 1 to 32 of a-z 0-9 _ -", c.Namespace)
	return faults
}

// validateBackends repeats none of the values: each may contain a password.
func (c *Config) validateBackends(fault faultFunc) {
	fault(c.DataDir != "" && c.Redis != "" && c.NATS != "" && c.MySQL != "",
		"--data-dir: has no effect if --redis, --nats and --mysql are all given; leave it out")
	err := store.CheckAddress(c.Redis)
	fault(c.Redis != "" && err != nil, "--redis: %w", err)
	for u := range strings.SplitSeq(c.NATS, ",") {
		fault(c.NATS != "" && !isURL(strings.TrimSpace(u), "nats", "tls", "ws", "wss"),
			"--nats: give a URL such as nats://host:4222, or several by commas")
		fault(c.NATSCreds+c.NATSNkey != "" && strings.Contains(u, "@"),
			"--nats-creds and --nats-nkey: leave out the user in --nats")
	}
	fault(c.NATSCreds != "" && c.NATSNkey != "", "--nats-creds and --nats-nkey: give one of them")
	fault(c.NATSCreds+c.NATSNkey != "" && c.NATS == "", "--nats-creds and --nats-nkey: need --nats")
	err = CheckMySQL(c.MySQL)
	fault(c.MySQL != "" && err != nil, "%w", err)
}

// isURL reports whether an address is a URL with a host and one of the schemes.
func isURL(address string, schemes ...string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && slices.Contains(schemes, u.Scheme)
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

func (c *Config) validateAccess(fault faultFunc) {
	for flag, token := range map[string]string{"operator": c.OperatorToken, "viewer": c.ViewerToken} {
		err := auth.CheckToken(token)
		fault(token != "" && err != nil, "--%s-token: %w", flag, err)
	}
	_, err := auth.ParseSecrets(c.JWTSecret)
	fault(c.JWTSecret != "" && err != nil, "--jwt-secret: %w", err)
	if !c.InProcess() {
		fault(c.OperatorToken == "" && c.OperatorsFile == "" && c.OIDCIssuer == "",
			"--operator-token, --operators-file or --oidc-issuer: one is required with real back ends")
		fault(c.JWTSecret == "" && c.JWKSURL == "",
			"--jwt-secret or --jwks-url: one is required with real back ends, to verify players' tokens on every node")
		fault(c.GuestsAllowed() && c.JWTSecret == "", "--guests: needs --jwt-secret, to sign the guests' tokens")
	}
	fault(c.OperatorToken != "" && c.OperatorToken == c.ViewerToken,
		"--viewer-token: must differ from --operator-token")
	if c.GuestChallenge == login.ChallengeTurnstile || c.GuestChallenge == login.ChallengeHCaptcha {
		fault(c.ChallengeSiteKey == "" || c.ChallengeSecret == "", "--guest-challenge %s: needs --challenge-site-key "+
			"and --challenge-secret, which the service issues for a site", c.GuestChallenge)
	} else {
		fault(c.ChallengeSiteKey+c.ChallengeSecret+c.ChallengeEndpoint+c.ChallengeScript != "",
			"--challenge-site-key, --challenge-secret, --challenge-endpoint and --challenge-script: are for "+
				"--guest-challenge turnstile or hcaptcha")
	}
	for flag, address := range map[string]string{"--challenge-endpoint": c.ChallengeEndpoint,
		"--challenge-script": c.ChallengeScript, "--jwks-url": c.JWKSURL} {
		fault(address != "" && !isURL(address, "https", "http"), "%s: give an http or https URL", flag)
	}
	_, err = admission.ParseExempt(c.AddressExempt)
	fault(err != nil, "--address-exempt: %v", err)
	for _, o := range c.AllowedOrigins {
		u, err := url.Parse(o)
		fault(o != "*" && (err != nil || u.Scheme == "" || u.Host == "" || u.Path != ""),
			"--allowed-origins %q: give scheme://host[:port]", o)
		fault(err == nil && (u.Scheme == "https" && u.Port() == "443" || u.Scheme == "http" && u.Port() == "80"),
			"--allowed-origins %q: leave out the port, as browsers do with the scheme's default", o)
	}
	for _, o := range c.FrameAncestors { // they become a part of a header
		fault(o != "*" && web.Origin(o) != o, "--frame-ancestors %q: give https://host[:port]", o)
	}
	err = names.Hosts(c.AvatarHosts).Check()
	fault(err != nil, "--avatar-hosts %w", err)
	fault(len(c.AvatarHosts) > 0 && !c.NamesShown(), "--avatar-hosts: needs --show-names")
}

// Exempt returns the networks of --address-exempt, which Validate has checked.
func (c *Config) Exempt() []netip.Prefix {
	networks, _ := admission.ParseExempt(c.AddressExempt)
	return networks
}

// validateFront checks the addresses of the process and its trusted proxies.
func (c *Config) validateFront(fault faultFunc) {
	_, _, err := net.SplitHostPort(c.Listen)
	fault(err != nil, "--listen %q: give host:port, for example :8080", c.Listen)
	_, _, err = net.SplitHostPort(c.AdminListen)
	fault(c.AdminListen != "" && err != nil, "--admin-listen %q: give host:port, for example 127.0.0.1:9090",
		c.AdminListen)
	fault(c.AdminListen != "" && c.AdminListen == c.Listen, "--admin-listen: must differ from --listen")
	if c.PublicURL != "" { // paths of pages are appended to it, so it has no path
		u, _ := url.Parse(c.PublicURL)
		fault(!isURL(c.PublicURL, "https", "http") || u.User != nil || strings.Trim(u.Path, "/") != "" ||
			u.RawQuery != "" || u.Fragment != "", "--public-url %q: give scheme://host[:port]", c.PublicURL)
	}
	c.validateVerifyFiles(fault)
	if sign := c.WeChatSign; sign+c.WeChatLoginAppID != "" {
		// They are https only: a script over plain http can be replaced in flight.
		for flag, address := range map[string]string{"--wechat-sign-url": cmp.Or(sign, c.WeChatSDK),
			"--wechat-sdk-url": c.WeChatSDK} {
			u, _ := url.Parse(address)
			fault(!isURL(address, "https") || u.User != nil || u.Fragment != "" || web.Origin(address) == "",
				"%s: give an https URL, without a user or a part after #", flag)
		}
	}
	fault((c.TLSCert == "") != (c.TLSKey == ""), "--tls-cert and --tls-key: give both, or none")
	_, err = clientip.ParseProxies(c.Proxies)
	fault(err != nil, "--trusted-proxies: %w", err)
	fault(c.ProxyProtocol && len(c.Proxies) == 0,
		"--proxy-protocol: name the proxies that may send its header in --trusted-proxies")
}

// verifyName matches the name of a file that is served below "/". It allows text only: a page would run as one of ours.
var verifyName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\.txt$`)

func (c *Config) validateVerifyFiles(fault faultFunc) {
	taken := map[string]bool{"licenses.txt": true}
	for _, path := range c.VerifyFiles {
		name := filepath.Base(path)
		fault(!verifyName.MatchString(name),
			"--verify-files %q: a name has letters, digits, _, - and dots, and ends with .txt", name)
		fault(taken[name], "--verify-files %q: there is another file of this name", name)
		taken[name] = true
	}
}

// PublicRoot is PublicURL without a slash at its end.
func (c *Config) PublicRoot() string { return strings.TrimRight(c.PublicURL, "/") }

// validateOIDC checks the settings of the operators' identity provider.
func (c *Config) validateOIDC(fault faultFunc) {
	if c.OIDCIssuer == "" {
		fault(c.OIDCAudience != "" || len(c.OIDCRoles) > 0,
			"--oidc-issuer: required with --oidc-audience and --oidc-roles")
		return
	}
	err := signed.CheckURL(c.OIDCIssuer)
	fault(err != nil, "--oidc-issuer: %w", err)
	fault(err == nil && strings.Contains(c.OIDCIssuer, "?"),
		"--oidc-issuer: give a URL without a query, such as https://id.example/realms/staff")
	fault(c.OIDCAudience == "",
		"--oidc-audience: required with --oidc-issuer; without it a token for any client is accepted")
	_, err = c.RolesByClaim()
	fault(err != nil, "--oidc-roles: %w", err)
}

// RolesByClaim returns the roles for each value of the claim. It returns nil if the values are the roles' names.
func (c *Config) RolesByClaim() (map[string][]auth.Role, error) {
	if len(c.OIDCRoles) == 0 {
		return nil, nil
	}
	roles := map[string][]auth.Role{}
	for _, text := range c.OIDCRoles {
		value, role, ok := strings.Cut(text, "=")
		if !ok || value == "" {
			return nil, fmt.Errorf("%q is not VALUE=ROLE", text)
		}
		is, err := auth.ParseRoles(role)
		if err != nil {
			return nil, err
		}
		roles[value] = append(roles[value], is...)
	}
	return roles, nil
}

// validateSigned checks the address and the secret of signed requests. It repeats neither: both may contain a password.
func validateSigned(fault faultFunc, flag, address, secret string) {
	err := signed.CheckURL(address)
	fault(err != nil, "--%s-url: %w", flag, err)
	_, err = signed.ParseSecret(secret)
	fault(err != nil, "--%s-secret: %w; this makes one: echo whsec_$(openssl rand -base64 32)", flag, err)
}

func (c *Config) validateProvider(fault faultFunc) {
	fault(c.DemoPayments && (!c.InProcess() || c.DataDir != "" || c.Provider != ProviderWallet), "--demo-payments: it "+
		"pays play money, so leave out --provider, --redis, --nats, --mysql and --data-dir")
	switch c.Provider {
	case ProviderWeChat:
		c.WeChatPay.validate(fault)
	case ProviderAlipay:
		c.Alipay.validate(fault)
	}
	if c.Provider != ProviderHTTP {
		fault(c.ProviderURL+c.ProviderSecret+c.ProviderAccount != "", "--provider-url, --provider-secret and "+
			"--provider-account: they belong to --provider http; give that too, or leave them out")
	}
	if c.Provider == ProviderHTTP {
		validateSigned(fault, "provider", c.ProviderURL, c.ProviderSecret)
	}
	const most = 100 // bytes
	for flag, name := range map[string]string{"provider-account": c.ProviderAccount, "payout-name": c.PayoutName} {
		fault(name != "" && rain.CheckText(name, most) != nil,
			"--%s: give a name of at most %d bytes, without control characters", flag, most)
	}
	fault(c.WithdrawPerDay > 0 && c.WithdrawPerDay < c.WithdrawMin, "--withdraw-per-day %d: it is less than "+
		"--withdraw-min %d, so no player could withdraw", c.WithdrawPerDay, c.WithdrawMin)
}

func (c *Config) validateRisk(fault faultFunc) {
	l := c.RiskLimits
	fault(l.Deny > 0 && l.Deny < l.Hold, "--risk-deny-score %d: give 0 for never, or at least --risk-hold-score %d",
		l.Deny, l.Hold)
	if c.RiskURL == "" {
		fault(c.RiskSecret != "", "--risk-secret: it belongs to --risk-url; give that too, or leave it out")
		return
	}
	fault(c.Risk == RiskOff, "--risk-url: not used with --risk off; give --risk watch (answers are recorded) or hold "+
		"(answers are applied)")
	validateSigned(fault, "risk", c.RiskURL, c.RiskSecret)
}

func (c *Config) validateAlarms(fault faultFunc) {
	if c.AlarmURL == "" {
		fault(c.AlarmSecret != "" || c.AlarmFormat != alarms.Standard,
			"--alarm-secret and --alarm-format: they belong to --alarm-url; give that too, or leave them out")
		return
	}
	badURL, badSecret := alarms.Check(c.AlarmFormat, c.AlarmURL, c.AlarmSecret)
	fault(badURL != nil, "--alarm-url: %w", badURL)
	fault(badSecret != nil, "--alarm-secret: %w", badSecret)
}
