package server

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"redrain/grab/confirm"
	"redrain/internal/sqldb"
	"redrain/payout/ledger/verdict"
	"redrain/server/challenge"
	"redrain/server/risk"
)

// The roles of a process. All are on by default. Every process serves the HTTP API and the pages.
const (
	RoleGateway  = "gateway"  // players' sockets
	RoleRelay    = "relay"    // outbox → JetStream
	RoleSettle   = "settle"   // JetStream → ledger, and ledger → payment provider
	RoleOperator = "operator" // the campaigns' upkeep: stocking, expiry, what a crash left half done
)

// AllRoles is every role there is.
var AllRoles = []string{RoleGateway, RoleRelay, RoleSettle, RoleOperator}

// What may pay withdrawals.
const (
	ProviderWallet = "wallet" // the ledger's entry is the payment
	ProviderHTTP   = "http"   // another system, asked by signed requests
)

// Config is everything that can be set. Its zero value is not usable; start from DefaultConfig.
type Config struct {
	Listen        string   // address of HTTP and WebSocket, "host:port"
	AdminListen   string   // address of metrics, health and profiles; "" = metrics and health on Listen, no profiles
	TLSCert       string   // file of the certificate that Listen serves, PEM; "" = no TLS
	TLSKey        string   // file of its key, PEM
	PublicURL     string   // where the server is reached from outside, as chats show it; "" = not known
	VerifyFiles   []string // text files that are served below "/", by which others know whose the server is
	WeChatSign    string   // who signs the player's page for WeChat's JS-SDK; "" = nobody, it is not loaded
	WeChatSDK     string   // WeChat's script
	Proxies       []string // networks and addresses of proxies whose word is taken for who is calling
	ProxyProtocol bool     // connections of those may begin with a PROXY header
	// "" = in-process; else an address, several by commas (Cluster), or a redis:// or rediss:// URL
	Redis         string
	NATS          string   // "" = in-process; else a nats:// URL, or several by commas
	MySQL         string   // "" = in-process SQLite; else a go-sql-driver DSN
	DataDir       string   // where what is in-process keeps its data; "" = nowhere, it is lost with the process
	Roles         []string // which of AllRoles this process has
	OperatorToken string   // bearer token that may do everything; generated for the in-process default
	ViewerToken   string   // bearer token that may read; "" = none
	// what operators do about more than this needs two of them, in minor units; nil = only the end of a withdrawal by
	// hand does
	SecondPersonAbove *int64
	OIDCIssuer        string        // address of the provider of operators' tokens; "" = none
	OIDCAudience      string        // that they must be for: the client id
	OIDCRolesClaim    string        // that has their roles
	OIDCRoles         []string      // what its values stand for, "value=role"; none: the values are the roles' names
	OIDCNameClaim     string        // that has the person's name
	OperatorsFile     string        // names operators, with their roles and the hashes of their tokens; "" = none
	JWTSecret         string        // HS256 secret of players' tokens; generated for the in-process default
	JWKSURL           string        // where the public keys of players' tokens are; "" = none
	JWTAudience       string        // that players' tokens must be for; "" = any
	JWTIssuer         string        // that they must be from; "" = any
	JWTMaxLife        time.Duration // for which a player's token may be good at most; 0 = no limit
	Guests            *bool         // players without a token; nil = only with the in-process default
	ShowNames         *bool         // players are shown by their tokens' names; nil = only with the in-process default
	AvatarHosts       []string      // where their pictures may come from; none: there are none
	GuestChallenge    string        // what a guest has to do first, one of package challenge's kinds
	ChallengeWork     int64         // the most hashes that the first guest of an address tries
	ChallengeSiteKey  string        // the page's key at the challenge's service
	ChallengeSecret   string        // and the server's
	ChallengeEndpoint string        // where that service verifies; "" = its own
	ChallengeScript   string        // its widget's script; "" = its own
	Risk              string        // what is done about players who may be none: off, watch or hold
	RiskLimits        risk.Limits   // from where on the rules speak
	RiskWait          time.Duration // how old a win is when it is posted where verdicts hold
	RiskURL           string        // the operator's own risk system; "" = none
	RiskSecret        string        // whsec_…, known to it too
	RiskTimeout       time.Duration // for which it is waited
	RiskDefault       string        // what holds where it does not answer: allow, hold or deny
	// what must have a win before its player is told: redis, replica, stream; "" = see ConfirmMode
	Confirm   string
	TapRate   int     // taps per second and player; 0 = no limit
	HelloRate float64 // refused hellos per second and address, over all nodes; 0 = no limit
	GuestRate float64 // new guests per second and address, over all nodes; 0 = no limit
	// what the guests of one address may have together, over all nodes; 0 = no limit
	AddressGuests int      // new ones in a day
	AddressSeats  int      // seats in a campaign's room
	AddressWins   float64  // the part of a campaign's packets that they may win
	AddressExempt []string // networks and addresses that are not bounded so
	// connections that this process takes within a second; 0 = by its processors, below 0 = no limit
	ArrivalsPerSecond int
	MaxConnections    int           // sockets of this process; more are refused with 503
	PerAddress        int           // connections of one address to this process; 0 = half of its descriptors
	PerUser           int           // connections of a player, over all nodes; 0 = no limit
	AllowedOrigins    []string      // web origins that may open a socket besides the server's own; "*" = all
	PayoutAttempts    int           // tries before a withdrawal becomes a dead letter
	Provider          string        // what pays withdrawals; "wallet" or "http"
	ProviderURL       string        // where the provider "http" is asked
	ProviderSecret    string        // whsec_…, known to the receiver there too
	ProviderAccount   string        // whose money the receiver pays for who knows the secret; "": each secret is one
	ProviderTimeout   time.Duration // of one try to pay
	ProviderRate      float64       // tries in a second, of all nodes; 0 = no limit
	PayoutName        string        // where a withdrawal goes, as players are told; "": what the provider means
	ProviderFlight    int           // tries at once, of all nodes; 0 = no limit
	WithdrawMin       int64         // the least of one withdrawal, in minor units; 0 = no limit
	WithdrawPerDay    int64         // what a player may withdraw in 24 hours, in minor units; 0 = no limit
	WithdrawPerHour   int           // a player's withdrawals in an hour; 0 = no limit
	GuestsWithdraw    *bool         // guests may withdraw; nil = only with the in-process default
	ReconcileEvery    time.Duration // how often the books are proved; 0 = never by itself
	// of the time that reading all of them again and again may take; 0 = never by itself
	ReconcileShare float64
	AuditRootFile  string        // that the daily roots are appended to; "" = none
	Demo           bool          // a demo campaign with the in-process default
	DrainTimeout   time.Duration // how long a shutdown may take
	BackendWait    time.Duration // how long to wait for a back end at start
	// prefix of Redis keys and NATS subjects, so that several redrains can share a back end
	Namespace string
}

// DefaultConfig is what `redrain serve` starts from.
func DefaultConfig() Config {
	return Config{
		Listen: ":8080", Roles: slices.Clone(AllRoles), TapRate: 20, HelloRate: 50, GuestRate: 200,
		AddressGuests: 1_000, AddressSeats: 300, AddressWins: 0.1, AddressExempt: []string{"127.0.0.0/8", "::1"},
		MaxConnections: 15_000, PerAddress: 5_000, PerUser: 4, GuestChallenge: challenge.KindNone,
		Risk: RiskWatch, RiskLimits: risk.DefaultLimits(), RiskWait: 2 * time.Second,
		RiskTimeout: 500 * time.Millisecond, RiskDefault: string(verdict.Allow),
		WeChatSDK: "https://res.wx.qq.com/open/js/jweixin-1.6.0.js", ChallengeWork: 100_000,
		PayoutAttempts: 10, Provider: ProviderWallet, ProviderTimeout: 10 * time.Second,
		OIDCRolesClaim: "roles", OIDCNameClaim: "email",
		ReconcileEvery: time.Minute, ReconcileShare: 0.2, Demo: true, DrainTimeout: 30 * time.Second,
		BackendWait: 30 * time.Second, Namespace: "rr",
	}
}

// InProcess tells whether every back end is the stand-in of this process.
func (c *Config) InProcess() bool { return c.Redis == "" && c.NATS == "" && c.MySQL == "" }

// ConfirmMode is what must have a win before its player is told. Where it is left open it is the stream if that is
// kept on disk by this process: then the end of the process, at which the stand-in of Redis forgets everything,
// loses no win that was told.
func (c *Config) ConfirmMode() string {
	switch {
	case c.Confirm != "":
		return c.Confirm
	case c.DataDir != "":
		return confirm.Stream.String()
	default:
		return confirm.Redis.String()
	}
}

// Has tells whether this process has a role.
func (c *Config) Has(role string) bool { return slices.Contains(c.Roles, role) }

var namespacePattern = regexp.MustCompile(`^[a-z0-9_-]{1,32}$`)

// Validate returns every fault of the configuration, each in words that say what to do.
func (c *Config) Validate() []error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	c.validateFront(fault)
	c.validateBackends(fault)
	c.validateAccess(fault)
	c.validateOIDC(fault)
	c.validateProvider(fault)
	c.validateWithdrawals(fault)
	c.validateRisk(fault)
	c.validateNames(fault)
	if len(c.Roles) == 0 {
		fault("--roles: name at least one of %s", strings.Join(AllRoles, ", "))
	}
	if standIn := c.Redis == "" || c.NATS == "" || c.MySQL == ""; standIn && len(c.Roles) > 0 &&
		len(c.Roles) < len(AllRoles) {
		fault("--roles: with a stand-in for --redis, --nats or --mysql this process must have all roles; " +
			"no other can reach it")
	}
	for _, r := range c.Roles {
		if !slices.Contains(AllRoles, r) {
			fault("--roles: %q is not one of %s", r, strings.Join(AllRoles, ", "))
		}
	}
	if mode, err := confirm.Parse(c.ConfirmMode()); err != nil {
		fault("--confirm %q: give redis, replica or stream", c.Confirm)
	} else if mode == confirm.Replica && c.Redis == "" {
		fault("--confirm replica: needs --redis; the stand-in in this process has no replica")
	}
	if c.TapRate < 0 || c.HelloRate < 0 || c.GuestRate < 0 {
		fault("--tap-rate, --hello-rate and --guest-rate: give 0 (no limit) or more")
	}
	if c.MaxConnections < 1 {
		fault("--max-connections %d: give 1 or more", c.MaxConnections)
	}
	if c.PerUser < 0 {
		fault("--connections-per-user %d: give 0 (no limit) or more", c.PerUser)
	}
	if c.PerAddress < 0 {
		fault("--connections-per-address %d: give 0 (no limit) or more", c.PerAddress)
	}
	if c.PayoutAttempts < 1 {
		fault("--payout-attempts %d: give 1 or more", c.PayoutAttempts)
	}
	if c.ReconcileShare < 0 || c.ReconcileShare > 1 {
		fault("--reconcile-share %v: give a part of 1, as 0.2, or 0 for never", c.ReconcileShare)
	}
	if c.ReconcileEvery < 0 || (c.ReconcileEvery > 0 && c.ReconcileEvery < time.Second) {
		fault("--reconcile-every %s: give a second or more, or 0 for never", c.ReconcileEvery)
	}
	if c.DrainTimeout <= 0 || c.BackendWait <= 0 {
		fault("--drain-timeout and --backend-wait: give a duration above zero, for example 30s")
	}
	if !namespacePattern.MatchString(c.Namespace) {
		fault("--namespace %q: 1 to 32 of a-z 0-9 _ -", c.Namespace)
	}
	return faults
}

// validateBackends repeats none of the values: there may be a password in any of them.
func (c *Config) validateBackends(fault func(string, ...any)) {
	if c.DataDir != "" && c.Redis != "" && c.NATS != "" && c.MySQL != "" {
		fault("--data-dir: has no effect where --redis, --nats and --mysql are all given; leave it out")
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
	c.validateMySQL(fault)
}

func (c *Config) validateMySQL(fault func(string, ...any)) {
	if c.MySQL != "" {
		if err := sqldb.CheckMySQL(c.MySQL); errors.Is(err, sqldb.ErrNoDatabase) {
			fault("--mysql: name the database, as in user:password@tcp(host:3306)/redrain")
		} else if option, ok := errors.AsType[*sqldb.OptionError](err); ok {
			fault("--mysql: %v", option)
		} else if err != nil {
			fault("--mysql: not a data source name; give user:password@tcp(host:3306)/database")
		}
	}
}

// leastToken is how many characters a shared token has with real back ends. It belongs to nobody, so a guess from
// anywhere may be the right one; of sixteen characters drawn at random all guesses of a century find none.
const leastToken = 16

func (c *Config) validateShared(fault func(string, ...any)) {
	for _, shared := range []struct{ flag, token string }{
		{"operator", c.OperatorToken}, {"viewer", c.ViewerToken},
	} {
		if shared.token != "" && len(shared.token) < leastToken {
			fault("--%s-token: give at least %d characters, drawn at random (openssl rand -hex 16), or they are "+
				"guessed", shared.flag, leastToken)
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
	if c.SecondPersonAbove != nil && *c.SecondPersonAbove < 0 {
		fault("--second-person-above %d: give 0 (all amounts) or more", *c.SecondPersonAbove)
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
	if c.JWTMaxLife < 0 {
		fault("--jwt-max-life %s: give a duration, or 0 for no limit", c.JWTMaxLife)
	}
	for _, o := range c.AllowedOrigins {
		if u, err := url.Parse(o); o != "*" && (err != nil || u.Scheme == "" || u.Host == "" || u.Path != "") {
			fault("--allowed-origins %q: give scheme://host[:port]", o)
		}
	}
}
