package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"redrain/grab/confirm"
	"redrain/internal/sqldb"
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
