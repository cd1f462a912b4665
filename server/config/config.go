package config

import (
	"log/slog"
	"slices"
	"time"

	"github.com/alecthomas/kong"

	"redrain/grab/confirm"
)

// The roles of a process. All are on by default. Every process serves the HTTP API and the pages.
const (
	RoleGateway  = "gateway"  // players' sockets
	RoleRelay    = "relay"    // outbox → JetStream
	RoleSettle   = "settle"   // JetStream → ledger, and ledger → payment provider
	RoleOperator = "operator" // the campaigns' upkeep: stocking, expiry, recovery after a crash
)

// AllRoles is every role there is.
var AllRoles = []string{RoleGateway, RoleRelay, RoleSettle, RoleOperator}

// The payers of withdrawals.
const (
	ProviderWallet = "wallet" // the ledger's entry is the payment
	ProviderHTTP   = "http"   // another system, asked by signed requests
	ProviderWeChat = "wechat" // WeChat Pay's merchant transfers
	ProviderAlipay = "alipay" // Alipay's transfers to accounts
)

// The modes of --risk.
const (
	RiskOff   = "off"   // no player is judged
	RiskWatch = "watch" // verdicts are recorded, and everything is paid
	RiskHold  = "hold"  // wins under a verdict are held until an operator decides; a denied player is not let in
)

// Config is every setting of `redrain serve`. Its zero value is not usable; start from Default.
//
// Each field is a flag of the command line, a variable of the environment and a key of the file. Only its tags describe
// it. They are name, default, oneof and range (accepted values), zero (meaning of 0) and main (for nearly every
// installation). A setting with the tag secret is never printed, and may come from a file; "live": it may change while
// the process runs. The help, docs/use/settings.md, docs/use/redrain.yaml and the README's table are made from them.
type Config struct {
	// SecretFiles has the files that secrets come from, by the secrets' flags.
	SecretFiles map[string]string `kong:"-"`

	Redis     string `group:"backends" main:"" secret:"login" placeholder:"ADDR" help:"Redis: one address, or a redis:// or rediss:// URL. redrain asks whether it is a Cluster. Several addresses of a Cluster are separated by commas."`
	NATS      string `group:"backends" main:"" secret:"login" name:"nats" placeholder:"URL" help:"NATS with JetStream, such as nats://host:4222; several separated by commas."`
	NATSCreds string `group:"backends" name:"nats-creds" placeholder:"FILE" help:"Credentials file of the NATS user, with JWT and seed. The file is read at each connection."`
	NATSNkey  string `group:"backends" name:"nats-nkey" placeholder:"FILE" help:"File with the seed of the NATS user's nkey."`
	MySQL     string `group:"backends" main:"" secret:"login" name:"mysql" placeholder:"DSN" help:"MySQL or MariaDB, such as user:password@tcp(host:3306)/redrain. The database exists; redrain creates its tables."`
	DataDir   string `group:"backends" main:"" placeholder:"DIR" help:"Directory where the in-process back ends keep ledger, stream and secrets. Without it they are lost when the process ends."`
	Namespace string `group:"backends" default:"rr" help:"Prefix of Redis keys and NATS subjects. Several installations with different prefixes can share their back ends."`

	OperatorToken     string        `group:"access" main:"" secret:"live" placeholder:"TOKEN" help:"Shared bearer token of operators, 16 characters or more, which may do everything. Real back ends require it, --operators-file or --oidc-issuer. Defaults to a generated token with the in-process back ends."`
	ViewerToken       string        `group:"access" secret:"live" placeholder:"TOKEN" help:"Shared bearer token that may only read, 16 characters or more."`
	OperatorsFile     string        `group:"access" placeholder:"FILE" help:"Operators with names: a YAML list of name, role (viewer, operator, cashier or admin) and sha256, as redrain operator token prints it. The file is read again when it changes."`
	OIDCIssuer        string        `group:"access" name:"oidc-issuer" placeholder:"URL" help:"OpenID Connect provider whose tokens identify operators."`
	OIDCAudience      string        `group:"access" name:"oidc-audience" placeholder:"ID" help:"Audience of these tokens: the client id of the console."`
	OIDCRolesClaim    string        `group:"access" name:"oidc-roles-claim" default:"roles" help:"Claim with an operator's roles. Dots lead into objects, as in realm_access.roles."`
	OIDCRoles         []string      `group:"access" name:"oidc-roles" placeholder:"VALUE=ROLE" help:"Role for each value of that claim. Defaults to the roles' names: viewer, operator, cashier, admin."`
	OIDCNameClaim     string        `group:"access" name:"oidc-name-claim" default:"email" help:"Claim with an operator's name. Without this claim the name is sub."`
	SecondPersonAbove *int64        `group:"access" range:"0.." placeholder:"N" help:"Amount in minor units above which deposits, retries and dismissals of dead letters, and withdrawals ended by hand need two people. 0: always. Defaults to withdrawals ended by hand only, always."`
	JWTSecret         string        `group:"access" main:"" secret:"live" name:"jwt-secret" placeholder:"SECRET" help:"Secret of players' HS256 tokens, 32 bytes or more. In a rotation it has two lines: the new secret, and the one before, which is accepted too. Real back ends require it or --jwks-url. Defaults to a generated secret with the in-process back ends."`
	JWKSURL           string        `group:"access" main:"" name:"jwks-url" placeholder:"URL" help:"Public keys of players' RS256, ES256 and EdDSA tokens."`
	JWTAudience       string        `group:"access" name:"jwt-audience" placeholder:"AUD" help:"Required audience (aud) of players' tokens."`
	JWTIssuer         string        `group:"access" name:"jwt-issuer" placeholder:"ISS" help:"Required issuer (iss) of players' tokens."`
	JWTMaxLife        time.Duration `group:"access" name:"jwt-max-life" default:"0s" range:"0s.." zero:"no limit" placeholder:"DURATION" help:"Longest life of a player's token."`
	Guests            *bool         `group:"access" main:"" negatable:"" help:"Let anyone play under a generated name. Needs --jwt-secret. Defaults to true with the in-process back ends only."`
	GuestsWithdraw    *bool         `group:"access" negatable:"" help:"Let guests withdraw. Defaults to true with the in-process back ends only."`
	ShowNames         *bool         `group:"access" negatable:"" help:"Show winners to everyone by the nickname or name of their tokens, instead of a masked id. Defaults to true with the in-process back ends only."`
	AvatarHosts       []string      `group:"access" placeholder:"HOST" help:"Hosts whose pictures are shown with the names: img.example.com, or *.example.com for all below it. Defaults to none."`
	GuestChallenge    string        `group:"access" default:"none" oneof:"none,work,turnstile,hcaptcha" placeholder:"KIND" help:"Challenge before a guest is created. With work the page computes a proof of work."`
	ChallengeWork     int64         `group:"access" default:"100000" range:"1.." help:"Most hashes that the page of an address's first guest tries. Each further guest of the address costs more."`
	ChallengeSiteKey  string        `group:"access" placeholder:"KEY" help:"Site key of Turnstile or hCaptcha."`
	ChallengeSecret   string        `group:"access" secret:"live" placeholder:"SECRET" help:"Secret key of Turnstile or hCaptcha."`
	ChallengeEndpoint string        `group:"access" placeholder:"URL" help:"Address that verifies proofs. Defaults to the service's own."`
	ChallengeScript   string        `group:"access" placeholder:"URL" help:"Address of the widget's script. Defaults to the service's own."`
	AllowedOrigins    []string      `group:"access" placeholder:"ORIGIN" help:"Web origins that may open a socket besides the server's own; * for all."`
	FrameAncestors    []string      `group:"access" placeholder:"ORIGIN" help:"Web origins whose pages may show the player's page in a frame; * for all."`

	WeChatLoginAppID       string   `group:"logins" name:"wechat-login-app-id" placeholder:"APPID" help:"App id of the WeChat official account by which players log in inside WeChat. It also signs the player's page for WeChat's JS-SDK. Needs --public-url."`
	WeChatLoginSecret      string   `group:"logins" secret:"live" name:"wechat-login-secret" placeholder:"SECRET" help:"App secret of that account."`
	WeChatMiniAppID        string   `group:"logins" name:"wechat-mini-app-id" placeholder:"APPID" help:"App id of the WeChat mini-program by which players log in."`
	WeChatMiniSecret       string   `group:"logins" secret:"live" name:"wechat-mini-secret" placeholder:"SECRET" help:"App secret of that mini-program."`
	WeChatLoginEndpoint    string   `group:"logins" name:"wechat-login-endpoint" default:"https://api.weixin.qq.com" placeholder:"URL" help:"Address of WeChat's interface."`
	PlayerOIDCIssuer       string   `group:"logins" name:"player-oidc-issuer" placeholder:"URL" help:"OpenID Connect provider by which players log in. Needs --public-url."`
	PlayerOIDCClientID     string   `group:"logins" name:"player-oidc-client-id" placeholder:"ID" help:"Client id of redrain at that provider."`
	PlayerOIDCClientSecret string   `group:"logins" secret:"live" name:"player-oidc-client-secret" placeholder:"SECRET" help:"Client secret of redrain at that provider. Leave it out for a public client."`
	LoginReturn            []string `group:"logins" placeholder:"URL" help:"Addresses that a login may return to, each with everything below its path. Defaults to --public-url."`

	TapRate           int      `group:"limits" main:"" default:"20" range:"0.." zero:"no limit" help:"Taps per second and player, over all nodes."`
	HelloRate         float64  `group:"limits" default:"50" range:"0.." zero:"no limit" help:"Refused hellos per second and address, over all nodes. Above it hellos are refused without a lookup of their campaign."`
	GuestRate         float64  `group:"limits" default:"200" range:"0.." zero:"no limit" help:"New guests, and as many logins by WeChat or OpenID Connect, per second and address, over all nodes."`
	AddressGuests     int      `group:"limits" default:"1000" range:"0.." zero:"no limit" help:"New guests per day and address, over all nodes. An IPv6 /64 is one address, here and below."`
	AddressSeats      int      `group:"limits" default:"300" range:"0.." zero:"no limit" help:"Guests of one address in a campaign's room, over all nodes."`
	AddressWins       float64  `group:"limits" default:"0.1" range:"0..1" zero:"no limit" help:"Part of a campaign's packets that the guests of one address can win together, but never fewer than 16 packets. Players with tokens of another issuer do not count."`
	AddressExempt     []string `group:"limits" default:"127.0.0.0/8,::1" placeholder:"CIDR" help:"Networks and addresses without these limits, such as a hall's."`
	ArrivalsPerSecond int      `group:"limits" default:"0" help:"New connections per second of this process. The others are asked to come back. 0: by the number of processors; below 0: no limit."`
	MaxConnections    int      `group:"limits" default:"15000" range:"1.." help:"Sockets of this process. More are refused with 503."`
	PerAddress        int      `group:"limits" name:"connections-per-address" default:"5000" range:"0.." zero:"half of the process's descriptors" help:"Connections of one address to this process, at most half of its descriptors."`
	PerUser           int      `group:"limits" name:"connections-per-user" default:"4" range:"0.." zero:"no limit" help:"Connections of one player, over all nodes. The newest stay; the others are closed with 4004."`
	PayoutAttempts    int      `group:"limits" default:"10" range:"1.." help:"Attempts at a withdrawal without a clear answer, or at a win that the ledger refuses, before it becomes a dead letter."`

	Risk        string        `group:"risk" default:"watch" oneof:"off,watch,hold" placeholder:"MODE" help:"Treatment of players who may be programs or farms. watch records verdicts. hold also keeps their later wins apart until an operator decides. The same on every node."`
	RiskWait    time.Duration `group:"risk" default:"2s" range:"0s..5s" help:"With --risk hold, age at which a win is paid. A verdict within this time applies to the win. The same on every node."`
	RiskLimits  RiskLimits    `embed:"" prefix:"risk-" group:"risk"`
	RiskURL     string        `group:"risk" name:"risk-url" placeholder:"URL" help:"Your own risk system. It gets signed requests for a new guest, at hello, before wins are held and at a withdrawal. https, except on this machine. The same on every node."`
	RiskSecret  string        `group:"risk" secret:"live" placeholder:"SECRET" help:"Secret that signs these requests: whsec_ and 24 to 64 random bytes in base64."`
	RiskTimeout time.Duration `group:"risk" default:"500ms" range:"10ms..3s" help:"Longest wait for an answer of your risk system."`
	RiskDefault string        `group:"risk" default:"allow" oneof:"allow,hold,deny" placeholder:"VERDICT" help:"Verdict without a valid answer in time. deny asks players to come back later. Before wins are held the verdict of the rules applies."`

	Provider        string        `group:"money" main:"" default:"wallet" oneof:"wallet,http,wechat,alipay" help:"Payer of withdrawals. With wallet the ledger's entry is the payment. http sends signed requests to --provider-url. wechat makes WeChat Pay's merchant transfers, and alipay transfers to Alipay accounts."`
	ProviderURL     string        `group:"money" name:"provider-url" placeholder:"URL" help:"Address that --provider http asks for payments; https, except on this machine."`
	ProviderSecret  string        `group:"money" secret:"" placeholder:"SECRET" help:"Secret that signs these requests: whsec_ and 24 to 64 random bytes in base64."`
	ProviderAccount string        `group:"money" placeholder:"NAME" help:"Name of the account that the secret belongs to. With the same name a new secret is the same receiver, and --provider-secret-file is read again when it changes. A withdrawal is never sent to two receivers. Defaults to a digest of the secret."`
	ProviderTimeout time.Duration `group:"money" default:"10s" range:"1s..1m" help:"Longest duration of one attempt."`
	ProviderRate    float64       `group:"money" default:"0" range:"0.01..100000" zero:"no limit; 90 with --provider wechat and alipay" help:"Attempts per second, of all nodes together. Stripe accepts 15."`
	ProviderFlight  int           `group:"money" name:"provider-inflight" default:"0" range:"0.." zero:"no limit" help:"Attempts in flight, of all nodes together. One node makes 8 at most."`
	PayoutName      string        `group:"money" placeholder:"NAME" help:"Destination of a withdrawal as players read it before they confirm: \"your WeChat balance\"."`
	WithdrawMin     int64         `group:"money" default:"0" range:"0.." zero:"no limit" help:"Smallest withdrawal, in minor units."`
	WithdrawPerDay  int64         `group:"money" default:"0" range:"0.." zero:"no limit" help:"Most that a player withdraws in 24 hours, in minor units. With --provider wechat and alipay it is also the most of one payee, over all players who share it."`
	WithdrawPerHour int           `group:"money" default:"0" range:"0.." zero:"no limit" help:"Withdrawals of a player in an hour."`

	ReviewAbove *int64 `group:"money" range:"0.." placeholder:"N" help:"Amount in minor units above which a withdrawal is held until a person releases it. Defaults to none."`

	DemoPayments bool `group:"money" help:"Pay withdrawals with play money, through a simulated WeChat Pay in this process. Needs the in-process back ends without --data-dir."`

	WeChatPay WeChatPay `embed:"" prefix:"wechat-" group:"money"`
	Alipay    Alipay    `embed:"" prefix:"alipay-" group:"money"`

	Listen        string        `group:"process" main:"" default:":8080" help:"Address of HTTP and WebSocket."`
	AdminListen   string        `group:"process" placeholder:"ADDR" help:"Address of metrics, health and profiles, which are then not on --listen."`
	TLSCert       string        `group:"process" name:"tls-cert" placeholder:"FILE" help:"Certificate of --listen, PEM. The file is read again when it changes."`
	TLSKey        string        `group:"process" name:"tls-key" placeholder:"FILE" help:"Private key of --tls-cert, PEM. The file is read again when it changes."`
	PublicURL     string        `group:"process" main:"" name:"public-url" placeholder:"URL" help:"Address of the server from outside, such as https://rain.example.com. Link previews in chats show it, and the QR code of a screen that was opened on this machine."`
	VerifyFiles   []string      `group:"process" placeholder:"FILE" help:"Text files served below / that prove the domain's owner, such as WeChat's MP_verify_….txt."`
	WeChatSign    string        `group:"process" name:"wechat-sign-url" placeholder:"URL" help:"Your server that signs the player's page for WeChat's JS-SDK. The page sends its address in ?url= and expects {appId, timestamp, nonceStr, signature}. Links shared in WeChat then have title, sentence and picture. Not needed with --wechat-login-app-id: then redrain signs."`
	WeChatSDK     string        `group:"process" name:"wechat-sdk-url" default:"https://res.wx.qq.com/open/js/jweixin-1.6.0.js" help:"WeChat's JS-SDK. The page loads it in WeChat's browser with --wechat-sign-url or --wechat-login-app-id."`
	Proxies       []string      `group:"process" main:"" name:"trusted-proxies" placeholder:"CIDR" help:"Networks and addresses of trusted proxies. The client is the right-most address in X-Forwarded-For that is not one of them."`
	ProxyProtocol bool          `group:"process" help:"Connections from --trusted-proxies may begin with a PROXY header, version 1 or 2."`
	Roles         []string      `group:"process" main:"" default:"gateway,relay,settle,operator" oneof:"gateway,relay,settle,operator" help:"Roles of this process: gateway (players' sockets), relay (outbox to JetStream), settle (JetStream to ledger and provider), operator (the campaigns' upkeep)."`
	Confirm       string        `group:"process" main:"" oneof:"redis,replica,stream" placeholder:"MODE" help:"Stores that have a win before its player is notified: redis; replica, also each replica that could become master; or stream, also JetStream. Defaults to stream with --data-dir, else redis."`
	Demo          bool          `group:"process" default:"true" negatable:"" help:"Run a demo campaign, if all back ends are in-process."`
	DrainTimeout  time.Duration `group:"process" default:"30s" range:"1ms.." help:"Longest duration of a shutdown after --drain-delay."`
	BackendWait   time.Duration `group:"process" default:"30s" range:"1ms.." help:"Longest wait for a back end at start."`
	LogLevel      slog.Level    `group:"process" default:"info" help:"Least level of log lines: debug, info, warn or error."`
	LogFormat     string        `group:"process" oneof:"text,json" placeholder:"FORMAT" help:"Format of the log on standard error. Defaults to text on a terminal, else json."`

	DrainDelay *time.Duration `group:"process" range:"0s.." placeholder:"DURATION" help:"Time for which a stopping node goes on as before, while /readyz answers draining. Load balancers send new players elsewhere meanwhile. Defaults to 5s, and to 0s with the in-process back ends."`

	ReconcileEvery time.Duration `group:"process" default:"1m" range:"1s.." zero:"never" help:"Interval at which one of the nodes compares the sums of live campaigns. It reconciles everything each night."`
	ReconcileShare float64       `group:"process" default:"0.2" range:"0..1" zero:"never" placeholder:"PART" help:"Part of its time in which that node reconciles everything each night."`
	AlarmURL       string        `group:"process" secret:"" name:"alarm-url" placeholder:"URL" help:"Address to which one node with the role operator posts the raise and the end of each alarm. https, except on this machine and for alertmanager. The same on every node."`
	AlarmFormat    string        `group:"process" default:"standard" oneof:"standard,dingtalk,feishu,wecom,alertmanager" placeholder:"FORMAT" help:"Format of these posts: standard (CloudEvents, signed as Standard Webhooks), a chat robot's, or alerts for Alertmanager's API v2."`
	AlarmSecret    string        `group:"process" secret:"live" placeholder:"SECRET" help:"Secret that signs these posts. standard requires one: whsec_ and 24 to 64 random bytes in base64. With dingtalk and feishu it is the robot's, if it has one."`
	AuditRootFile  string        `group:"process" placeholder:"FILE" help:"File to which the root of each day is appended, one line of JSON each. redrain audit verify --root proves with it that earlier records are unchanged."`
}

// RiskLimits are the limits of the rules that judge players. The defaults hold none of the honest players that were
// measured: see docs/use/abuse.md.
type RiskLimits struct {
	Hold     int `name:"hold-score" default:"60" range:"0.." zero:"never" help:"Score of the rules at which wins are held."`
	Deny     int `name:"deny-score" default:"0" range:"0.." zero:"never" help:"Score at which the verdict is deny, which also holds wins."`
	FastMS   int `name:"fast-ms" default:"100" range:"1.." help:"Time after a drop's opening, in ms, before which no person taps it."`
	SpreadMS int `name:"spread-ms" default:"12" range:"1.." help:"Spread of reaction times, in ms, below which no person is so steady."`
	Taps     int `name:"taps" default:"6" range:"1.." help:"Taps before a player's rhythm is judged."`
	Winners  int `name:"winners" default:"20" range:"1.." help:"Winning players of one address that count as many."`
	Chorus   int `name:"chorus" default:"5" range:"1.." help:"Players with the same steady rhythm that count as one program."`
	Sessions int `name:"sessions" default:"10" range:"1.." help:"Players with the same sid in their tokens that count as a farm."`
}

// WeChatPay are the settings of --provider wechat.
type WeChatPay struct {
	Endpoint       string   `name:"endpoint" default:"https://api.mch.weixin.qq.com" placeholder:"URL" help:"Address of WeChat Pay; another one for tests."`
	MchID          string   `name:"mch-id" placeholder:"ID" help:"Merchant that pays withdrawals."`
	AppID          string   `name:"app-id" placeholder:"ID" help:"App that the players' openids belong to. It is linked to the merchant."`
	KeyFile        string   `name:"key-file" placeholder:"FILE" help:"The merchant's private key: apiclient_key.pem."`
	KeySerial      string   `name:"key-serial" placeholder:"SERIAL" help:"Serial number of the merchant's certificate."`
	APIv3Key       string   `name:"apiv3-key" secret:"live" placeholder:"SECRET" help:"APIv3 key of the merchant, 32 characters. It decrypts notifications."`
	PublicKeyFiles []string `name:"public-key-file" placeholder:"FILE" help:"WeChat Pay's public key, or its platform certificate, PEM. Given twice in a rotation, in the order of --wechat-public-key-id."`
	PublicKeyIDs   []string `name:"public-key-id" placeholder:"ID" help:"Id of that public key, PUB_KEY_ID_…, or the serial number of the certificate."`
	SceneID        string   `name:"scene-id" placeholder:"ID" help:"Scene of the transfers, as the merchant platform names it, such as 1000."`
	SceneReport    []string `name:"scene-report" sep:"none" placeholder:"NAME=VALUE" help:"Report that the scene requires, such as 活动名称=红包雨. Repeated for each."`
	Remark         string   `name:"remark" default:"红包提现" help:"Remark that the player reads in WeChat, at most 32 characters."`
	NotifyURL      string   `name:"notify-url" placeholder:"URL" help:"Address for notifications. Defaults to --public-url and /api/v1/providers/wechat/notifications; without both redrain only asks."`
}

// Alipay are the settings of --provider alipay.
type Alipay struct {
	Endpoint      string `name:"endpoint" default:"https://openapi.alipay.com/gateway.do" placeholder:"URL" help:"Gateway of Alipay; another one for tests."`
	AppID         string `name:"app-id" placeholder:"ID" help:"Application that pays withdrawals."`
	KeyFile       string `name:"key-file" placeholder:"FILE" help:"The application's private key."`
	PublicKeyFile string `name:"public-key-file" placeholder:"FILE" help:"Alipay's public key, which the console shows for the application."`
	Title         string `name:"title" default:"红包提现" help:"Title of the transfer, as the player reads it in Alipay."`
	NotifyURL     string `name:"notify-url" placeholder:"URL" help:"Address for notifications. Defaults to --public-url and /api/v1/providers/alipay/notifications. Alipay sends them to the application's gateway address."`
}

// Default returns the configuration with every setting at its default.
func Default() Config {
	var c Config
	if err := kong.ApplyDefaults(&c); err != nil {
		panic("config: the tags are wrong: " + err.Error()) // a programming error that every test would meet
	}
	return c
}

// InProcess reports whether every back end is in-process.
func (c *Config) InProcess() bool { return c.Redis == "" && c.NATS == "" && c.MySQL == "" }

// ConfirmMode returns the store that has a win before its player is notified. With --data-dir it defaults to the
// stream, which survives the process on disk; the in-process Redis does not.
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

// Has reports whether this process has a role.
func (c *Config) Has(role string) bool { return slices.Contains(c.Roles, role) }

// GuestsAllowed reports whether anyone may play under a generated name.
func (c *Config) GuestsAllowed() bool { return c.orInProcess(c.Guests) }

// GuestsMayWithdraw reports whether guests may withdraw.
func (c *Config) GuestsMayWithdraw() bool { return c.orInProcess(c.GuestsWithdraw) }

// NamesShown reports whether winners are shown by the names of their tokens.
func (c *Config) NamesShown() bool { return c.orInProcess(c.ShowNames) }

func (c *Config) orInProcess(set *bool) bool {
	if set != nil {
		return *set
	}
	return c.InProcess()
}

// DrainWait returns the time for which a node that was asked to stop goes on as before.
func (c *Config) DrainWait() time.Duration {
	const noticed = 5 * time.Second // two checks of usual load balancers
	switch {
	case c.DrainDelay != nil:
		return *c.DrainDelay
	case c.InProcess():
		return 0
	}
	return noticed
}

// SettleWait returns the age at which a win is posted.
func (c *Config) SettleWait() time.Duration {
	if c.Risk != RiskHold {
		return 0
	}
	return c.RiskWait
}
