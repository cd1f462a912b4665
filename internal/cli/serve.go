package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"redrain/server"
	"redrain/server/risk"
)

// groups order the flags of `redrain serve --help`.
var groups = []kong.Group{
	{Key: "backends", Title: "Back ends", Description: "What is left out is done by a stand-in inside this process."},
	{Key: "access", Title: "Who may do what"},
	{Key: "limits", Title: "Limits"},
	{Key: "risk", Title: "Bots and farms", Description: "What speaks against players, and what follows from it."},
	{Key: "money", Title: "Payments outside", Description: "The same on every node with the role settle."},
	{Key: "process", Title: "This process"},
	{Key: "remote", Title: "The server to speak to"},
	{Key: "load", Title: "The load"},
	{Key: "benchrain", Title: "A campaign and a rain of bench's own",
		Description: "With the operator's --token and no --campaign."},
	{Key: "benchrivals", Title: "Farms and bots",
		Description: "Against --players people, each with an address of their own; in rains of bench's own."},
}

// serveCmd runs the server. Its flags are the fields of server.Config.
type serveCmd struct {
	Redis     string `group:"backends" placeholder:"ADDR" help:"Redis: one address, several with commas for a Cluster, or a redis:// or rediss:// URL."`
	NATS      string `group:"backends" name:"nats" placeholder:"URL" help:"NATS with JetStream, such as nats://host:4222; several with commas."`
	MySQL     string `group:"backends" name:"mysql" placeholder:"DSN" help:"MySQL or MariaDB, such as user:password@tcp(host:3306)/redrain. The database exists; redrain makes its tables."`
	DataDir   string `group:"backends" placeholder:"DIR" help:"Keep on disk what the stand-ins store, so that it survives the process."`
	Namespace string `group:"backends" default:"${namespace}" help:"Prefix of keys and subjects, so that several redrains can share their back ends."`

	OperatorToken     string        `group:"access" placeholder:"TOKEN" help:"Operators' shared bearer token, which may do everything. Required with real back ends, unless operators have names."`
	ViewerToken       string        `group:"access" placeholder:"TOKEN" help:"Bearer token of those who may only read."`
	OperatorsFile     string        `group:"access" placeholder:"FILE" help:"Operators with names: a YAML list of name, role (viewer, operator, cashier or admin) and sha256, as redrain operator token prints it; read again when it changes."`
	OIDCIssuer        string        `group:"access" name:"oidc-issuer" placeholder:"URL" help:"OpenID Connect provider whose tokens name operators, as it calls itself."`
	OIDCAudience      string        `group:"access" name:"oidc-audience" placeholder:"ID" help:"What its tokens must be for: the client id of the console."`
	OIDCRolesClaim    string        `group:"access" name:"oidc-roles-claim" default:"${oidc_roles_claim}" help:"The claim that has an operator's roles; dots lead into objects, as in realm_access.roles."`
	OIDCRoles         []string      `group:"access" name:"oidc-roles" placeholder:"VALUE=ROLE" help:"What the values of that claim stand for. By default they are the roles' names: viewer, operator, cashier, admin."`
	OIDCNameClaim     string        `group:"access" name:"oidc-name-claim" default:"${oidc_name_claim}" help:"The claim that has an operator's name; where it is missing, sub is the name."`
	SecondPersonAbove *int64        `group:"access" placeholder:"N" help:"Deposits, retries and dismissals of dead letters, and withdrawals that are marked as paid or given back, need two people above this amount in minor units; 0: always. By default only the last two do, and always."`
	JWTSecret         string        `group:"access" name:"jwt-secret" placeholder:"SECRET" help:"Secret of players' HS256 tokens."`
	JWKSURL           string        `group:"access" name:"jwks-url" placeholder:"URL" help:"Public keys of players' RS256, ES256 and EdDSA tokens."`
	JWTAudience       string        `group:"access" name:"jwt-audience" placeholder:"AUD" help:"What players' tokens must be for, their aud."`
	JWTIssuer         string        `group:"access" name:"jwt-issuer" placeholder:"ISS" help:"Who players' tokens must be from, their iss."`
	JWTMaxLife        time.Duration `group:"access" name:"jwt-max-life" placeholder:"DURATION" help:"For how long a player's token may be good at most; no limit by default."`
	Guests            *bool         `group:"access" negatable:"" help:"Let anyone play under a generated name. On by default only with the stand-ins."`
	GuestsWithdraw    *bool         `group:"access" negatable:"" help:"Let guests take money out. On by default only with the stand-ins."`
	ShowNames         *bool         `group:"access" negatable:"" help:"Show players who have won to all who look on, by their tokens' nickname or name; others under a masked id. On by default only with the stand-ins."`
	AvatarHosts       []string      `group:"access" placeholder:"HOST" help:"Hosts whose pictures are shown beside them, of the tokens' picture: img.example.com, or *.example.com for all below it. By default none are."`
	GuestChallenge    string        `group:"access" default:"${guest_challenge}" placeholder:"KIND" help:"What a guest has to do first: none, work (the page computes something), turnstile or hcaptcha."`
	ChallengeWork     int64         `group:"access" default:"${challenge_work}" help:"The most hashes that the page of an address's first guest tries; it is more for each guest after it."`
	ChallengeSiteKey  string        `group:"access" placeholder:"KEY" help:"The page's key at Turnstile or hCaptcha."`
	ChallengeSecret   string        `group:"access" placeholder:"SECRET" help:"The server's key there."`
	ChallengeEndpoint string        `group:"access" placeholder:"URL" help:"Where proofs are verified, instead of at the service itself."`
	ChallengeScript   string        `group:"access" placeholder:"URL" help:"The widget's script, instead of the service's own."`
	AllowedOrigins    []string      `group:"access" placeholder:"ORIGIN" help:"Web origins that may open a socket besides the server's own; * for all."`

	TapRate        int      `group:"limits" default:"${tap_rate}" help:"Taps per second and player; 0 for no limit."`
	HelloRate      float64  `group:"limits" default:"${hello_rate}" help:"Hellos per second and address that may be refused, before no more campaigns are looked up for them; 0 for no limit."`
	GuestRate      float64  `group:"limits" default:"${guest_rate}" help:"New guests per second and address; 0 for no limit."`
	AddressGuests  int      `group:"limits" default:"${address_guests}" help:"New guests of one address in a day, over all nodes; 0 for no limit. Of IPv6, a /64 is one address here and below."`
	AddressSeats   int      `group:"limits" default:"${address_seats}" help:"Guests of one address in a campaign's room, over all nodes; 0 for no limit."`
	AddressWins    float64  `group:"limits" default:"${address_wins}" help:"The part of a campaign's packets that the guests of one address win together at most, or 16 packets if that is more; 0 for no limit. Players with tokens of somebody's are not counted."`
	AddressExempt  []string `group:"limits" default:"${address_exempt}" placeholder:"CIDR" help:"Networks and addresses whose guests are not limited so, such as a hall's."`
	Arrivals       int      `group:"limits" name:"arrivals-per-second" default:"0" help:"Connections that this process takes within a second; the others are told when to come back. 0 for what its processors take, below 0 for no limit."`
	MaxConnections int      `group:"limits" default:"${max_connections}" help:"Sockets of this process."`
	PerAddress     int      `group:"limits" name:"connections-per-address" default:"${connections_per_address}" help:"Connections of one address to this process; 0 for half of its descriptors."`
	PerUser        int      `group:"limits" name:"connections-per-user" default:"${connections_per_user}" help:"Connections of one player, over all nodes; the newest stay. 0 for no limit."`
	PayoutAttempts int      `group:"limits" default:"${payout_attempts}" help:"Tries of a withdrawal that is not answered clearly, or of a win that the ledger refuses, before it becomes a dead letter for an operator to retry."`

	Risk         string        `group:"risk" default:"${risk}" placeholder:"MODE" help:"What is done about players who may be programs or farms: off, watch (verdicts are written down) or hold (what they win from then on is kept apart until somebody has decided). The same on every node."`
	RiskWait     time.Duration `group:"risk" default:"${risk_wait}" help:"With --risk hold, how old a win is when it is paid: what is found out about its player meanwhile holds for it. At most 5s; 0 pays at once. The same on every node."`
	RiskHold     int           `group:"risk" name:"risk-hold-score" default:"${risk_hold}" help:"Score of the rules from which wins are held; 0 for never."`
	RiskDeny     int           `group:"risk" name:"risk-deny-score" default:"${risk_deny}" help:"Score from which the verdict is deny, which is held too; 0 for never."`
	RiskFast     int           `group:"risk" name:"risk-fast-ms" default:"${risk_fast}" help:"No hand taps a drop within so many milliseconds of its opening."`
	RiskSpread   int           `group:"risk" name:"risk-spread-ms" default:"${risk_spread}" help:"No hand is so steady that its times differ by less than so many milliseconds."`
	RiskTaps     int           `group:"risk" default:"${risk_taps}" help:"Taps after which hands are judged."`
	RiskWinners  int           `group:"risk" default:"${risk_winners}" help:"So many players with wins behind one address are many."`
	RiskChorus   int           `group:"risk" default:"${risk_chorus}" help:"So many players with the same steady rhythm are one program."`
	RiskSessions int           `group:"risk" default:"${risk_sessions}" help:"So many players whose tokens have the same sid are no people."`
	RiskURL      string        `group:"risk" name:"risk-url" placeholder:"URL" help:"Your own risk system, which is asked by signed requests when a guest is made, at hello, before wins are held and at a withdrawal; https, but on this machine. The same on every node."`
	RiskSecret   string        `group:"risk" placeholder:"SECRET" help:"Secret that signs these requests: whsec_ and 24 to 64 random bytes in base64."`
	RiskTimeout  time.Duration `group:"risk" default:"${risk_timeout}" help:"How long it is waited for its answer."`
	RiskDefault  string        `group:"risk" default:"${risk_default}" placeholder:"VERDICT" help:"What holds where it does not answer in time, or makes no sense: allow, hold, or deny, which has players come back later. Before wins are held the rules' own verdict does."`

	Provider        string        `group:"money" default:"${provider}" help:"What pays withdrawals: wallet (the ledger's entry is the payment) or http (signed requests to --provider-url)."`
	ProviderURL     string        `group:"money" name:"provider-url" placeholder:"URL" help:"Where --provider http asks for payments; https, but on this machine."`
	ProviderSecret  string        `group:"money" placeholder:"SECRET" help:"Secret that signs these requests: whsec_ and 24 to 64 random bytes in base64."`
	ProviderAccount string        `group:"money" placeholder:"NAME" help:"Names the account that the secret belongs to, so that a new secret of it is the same receiver. Withdrawals that were sent to one receiver are never sent to another."`
	ProviderTimeout time.Duration `group:"money" default:"${provider_timeout}" help:"How long one try may take."`
	ProviderRate    float64       `group:"money" default:"0" help:"Tries begun in a second, of all nodes together; 0 for no limit. Stripe takes 15."`
	ProviderFlight  int           `group:"money" name:"provider-inflight" default:"0" help:"Tries at once, of all nodes together; 0 for no limit. A node makes 8 at most."`
	PayoutName      string        `group:"money" placeholder:"NAME" help:"Where a withdrawal goes, as the player's page names it before it asks once more: \"your WeChat balance\"."`
	WithdrawMin     int64         `group:"money" default:"0" help:"The least that a player can withdraw, in minor units; 0 for no limit."`
	WithdrawPerDay  int64         `group:"money" default:"0" help:"What a player can withdraw in 24 hours, in minor units; 0 for no limit."`
	WithdrawPerHour int           `group:"money" default:"0" help:"How often a player can withdraw in an hour; 0 for no limit."`

	Listen         string        `group:"process" default:"${listen}" help:"Address of HTTP and WebSocket."`
	AdminListen    string        `group:"process" placeholder:"ADDR" help:"Address of metrics, health and profiles, which are then not on --listen."`
	TLSCert        string        `group:"process" name:"tls-cert" placeholder:"FILE" help:"Certificate of --listen, PEM; read again when it changes."`
	TLSKey         string        `group:"process" name:"tls-key" placeholder:"FILE" help:"Key of --tls-cert, PEM."`
	PublicURL      string        `group:"process" name:"public-url" placeholder:"URL" help:"Where the server is reached from outside, such as https://rain.example.com: for the address and picture that chats show beside a link, and for the QR code of a screen that was opened on this machine."`
	VerifyFiles    []string      `group:"process" placeholder:"FILE" help:"Text files that are served below /, by which others are shown whose the domain is, such as WeChat's MP_verify_….txt."`
	WeChatSign     string        `group:"process" name:"wechat-sign-url" placeholder:"URL" help:"Your server that signs the player's page for WeChat's JS-SDK: asked by the page, with the page's address in ?url=, it answers {appId, timestamp, nonceStr, signature}. Then a link that is sent on in WeChat has the page's title, sentence and picture."`
	WeChatSDK      string        `group:"process" name:"wechat-sdk-url" default:"${wechat_sdk}" help:"WeChat's JS-SDK, which the page loads in WeChat's browser with --wechat-sign-url."`
	TrustedProxies []string      `group:"process" placeholder:"CIDR" help:"Networks and addresses of proxies that are believed: the client is the right-most address in X-Forwarded-For that is none of them."`
	ProxyProtocol  bool          `group:"process" help:"Connections from --trusted-proxies may begin with a PROXY header, version 1 or 2."`
	Roles          []string      `group:"process" default:"${roles}" help:"What this process does: any of gateway, relay, settle and operator."`
	Confirm        string        `group:"process" placeholder:"MODE" help:"What must have a win before its player is told: redis; replica, those of Redis that could become master as well; or stream, JetStream as well. By default stream with --data-dir, else redis."`
	Demo           bool          `group:"process" default:"${demo}" negatable:"" help:"A demo campaign with rains, where all back ends are stand-ins."`
	DrainTimeout   time.Duration `group:"process" default:"${drain_timeout}" help:"How long a shutdown may take."`
	BackendWait    time.Duration `group:"process" default:"${backend_wait}" help:"How long to wait for a back end at start."`
	LogLevel       slog.Level    `group:"process" default:"info" help:"Least level of what is logged: debug, info, warn or error."`
	LogFormat      string        `group:"process" placeholder:"FORMAT" help:"Form of the log on standard error: text or json. By default text on a terminal, else json."`

	ReconcileEvery time.Duration `group:"process" default:"${reconcile_every}" help:"How often one of the nodes compares the sums of live campaigns; each night it reconciles everything. 0 for never."`
	ReconcileShare float64       `group:"process" default:"${reconcile_share}" placeholder:"PART" help:"What part of the time that node may take to reconcile everything each night; 0 for never."`
	AuditRootFile  string        `group:"process" placeholder:"FILE" help:"Append the root of each day to this file, a line of JSON each. Whoever has it can prove that nothing from before was changed: redrain audit verify --root."`
}

func (s *serveCmd) config() server.Config {
	return server.Config{
		Listen: s.Listen, AdminListen: s.AdminListen, TLSCert: s.TLSCert, TLSKey: s.TLSKey,
		PublicURL: s.PublicURL, VerifyFiles: s.VerifyFiles, Proxies: s.TrustedProxies, ProxyProtocol: s.ProxyProtocol,
		WeChatSign: s.WeChatSign, WeChatSDK: s.WeChatSDK,
		JWTAudience: s.JWTAudience, JWTIssuer: s.JWTIssuer, JWTMaxLife: s.JWTMaxLife,
		Redis: s.Redis, NATS: s.NATS, MySQL: s.MySQL, DataDir: s.DataDir, Roles: s.Roles,
		OperatorToken: s.OperatorToken, ViewerToken: s.ViewerToken,
		OperatorsFile: s.OperatorsFile, SecondPersonAbove: s.SecondPersonAbove,
		OIDCIssuer: s.OIDCIssuer, OIDCAudience: s.OIDCAudience, OIDCRolesClaim: s.OIDCRolesClaim,
		OIDCRoles: s.OIDCRoles, OIDCNameClaim: s.OIDCNameClaim, JWTSecret: s.JWTSecret, JWKSURL: s.JWKSURL,
		ShowNames: s.ShowNames, AvatarHosts: s.AvatarHosts,
		Guests: s.Guests, GuestChallenge: s.GuestChallenge, ChallengeWork: s.ChallengeWork,
		ChallengeSiteKey: s.ChallengeSiteKey, ChallengeSecret: s.ChallengeSecret,
		ChallengeEndpoint: s.ChallengeEndpoint, ChallengeScript: s.ChallengeScript,
		Confirm: s.Confirm, TapRate: s.TapRate, HelloRate: s.HelloRate, GuestRate: s.GuestRate,
		AddressGuests: s.AddressGuests, AddressSeats: s.AddressSeats, AddressWins: s.AddressWins,
		AddressExempt:     s.AddressExempt,
		ArrivalsPerSecond: s.Arrivals, MaxConnections: s.MaxConnections, PerAddress: s.PerAddress,
		PerUser:        s.PerUser,
		AllowedOrigins: s.AllowedOrigins, PayoutAttempts: s.PayoutAttempts,
		Provider: s.Provider, ProviderURL: s.ProviderURL, ProviderSecret: s.ProviderSecret,
		ProviderAccount: s.ProviderAccount, PayoutName: s.PayoutName,
		ProviderRate: s.ProviderRate, ProviderFlight: s.ProviderFlight, WithdrawMin: s.WithdrawMin,
		WithdrawPerDay: s.WithdrawPerDay, WithdrawPerHour: s.WithdrawPerHour, GuestsWithdraw: s.GuestsWithdraw,
		ProviderTimeout: s.ProviderTimeout, Demo: s.Demo, ReconcileEvery: s.ReconcileEvery,
		ReconcileShare: s.ReconcileShare,
		AuditRootFile:  s.AuditRootFile,
		Risk:           s.Risk, RiskWait: s.RiskWait,
		RiskURL: s.RiskURL, RiskSecret: s.RiskSecret, RiskTimeout: s.RiskTimeout, RiskDefault: s.RiskDefault,
		RiskLimits: risk.Limits{Hold: s.RiskHold, Deny: s.RiskDeny, FastMS: s.RiskFast, SpreadMS: s.RiskSpread,
			Taps: s.RiskTaps, Winners: s.RiskWinners, Chorus: s.RiskChorus, Sessions: s.RiskSessions},
		DrainTimeout: s.DrainTimeout, BackendWait: s.BackendWait, Namespace: s.Namespace,
	}
}

func (s *serveCmd) check() []string {
	var faults []string
	cfg := s.config()
	for _, err := range cfg.Validate() {
		faults = append(faults, err.Error())
	}
	if !validLogFormat(s.LogFormat) {
		faults = append(faults, fmt.Sprintf("--log-format: %q is not text or json", s.LogFormat))
	}
	return faults
}

// errAtOnce ends serve after a second signal.
var errAtOnce = errors.New("stopped at once by a second signal, without waiting for the end")

// Run serves until a signal comes, then drains. A second signal returns without waiting; the process is expected to
// exit then.
func (s *serveCmd) Run(app *App) error {
	log := app.newLogger(s.LogFormat, s.LogLevel)
	server.LogLibraries(log)
	tuneCollector(s.Roles)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	done := make(chan error, 1)
	go func() { done <- serve(ctx, app, s.config(), log) }()
	select {
	case err := <-done:
		return err
	case sig := <-signals:
		log.Info("asked to stop; once more stops at once", "signal", sig.String())
		cancel()
	}
	select {
	case err := <-done:
		return err
	case <-signals:
		return errAtOnce
	}
}

func serve(ctx context.Context, app *App, cfg server.Config, log *slog.Logger) error {
	srv, err := app.NewServer(ctx, cfg, log, app.Stdout)
	if err == nil {
		err = srv.Run(ctx)
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // it was asked to stop before it had started
	}
	return err
}
