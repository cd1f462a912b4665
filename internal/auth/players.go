package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"

	"redrain/internal/loop"
	"redrain/internal/wire"
	"redrain/rain"
)

// Errors of players' tokens.
var (
	// ErrBadToken is wrapped by Verify, with the reason. The same token will be refused again.
	ErrBadToken = errors.New("bad token")
	// ErrNoSecret is returned by Mint if there is no secret to sign with.
	ErrNoSecret = errors.New("there is no secret to sign players' tokens with")
)

const (
	// leeway is the largest difference between the clocks of this machine and of the token's issuer.
	leeway = 5 * time.Second
	// maxTokenLen limits the work that a stranger's token can cause, in bytes. A socket's hello has room for as much.
	maxTokenLen = wire.MaxToken
	// refusalsEvery is the interval at which a refused token is logged.
	refusalsEvery = 10 * time.Second
)

// checkForm makes the checks of a token that the JWT library leaves out. It refuses extensions that must be understood
// (RFC 7515, section 4.1.11), because none is known here; an empty list is not allowed either. And it refuses a name
// that occurs twice in one object, because readers differ in the value that they take.
func checkForm(t *jwt.Token) error {
	if _, asks := t.Header["crit"]; asks {
		return errors.New("it has a crit header, and no extensions are understood here")
	}
	for _, part := range strings.SplitN(t.Raw, ".", 3)[:2] { // the parser has found three
		text, err := base64.RawURLEncoding.DecodeString(part)
		if err == nil {
			err = json.Unmarshal(text, new(jsontext.Value))
		}
		twice, ok := errors.AsType[*jsontext.SyntacticError](err)
		switch {
		case ok && errors.Is(err, jsontext.ErrDuplicateName):
			return fmt.Errorf("it has %q twice", twice.JSONPointer.LastToken())
		case err != nil:
			return errors.New("it is not JSON in UTF-8")
		}
	}
	return nil
}

// PlayersOptions configure the verification of players' tokens. With the zero value, every token is refused.
type PlayersOptions struct {
	Secret     string           // signs HS256 tokens, see Secrets; "" refuses them, and Mint fails
	NewSecret  func() string    // returns the newest Secret; nil: it never changes
	JWKSURL    string           // has the public keys of RS256, ES256 and EdDSA tokens; "" refuses them
	Audience   string           // required audience of tokens, and that of minted ones; "": any, none
	Issuer     string           // required issuer of tokens, and that of minted ones; "": any, none
	MaxLife    time.Duration    // longest life of a token; 0: no limit
	Clock      func() time.Time // the time that exp and nbf are compared with; nil: time.Now
	HTTPClient *http.Client     // fetches the key set; nil: a new client
	Recoverer  *loop.Recoverer  // nil: panics are logged only
	Log        *slog.Logger     // nil: slog.Default()
}

// Players verifies players' tokens, and mints them if it has the secret. It is safe for concurrent use.
type Players struct {
	o      PlayersOptions
	keys   *keySource // nil without a JWKS
	parser *jwt.Parser

	refusals rate.Sometimes // limits the log
}

// NewPlayers returns the verifier. With a JWKSURL, Run keeps the key set fresh. An error is about the options.
func NewPlayers(o PlayersOptions) (*Players, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	p := &Players{o: o, refusals: rate.Sometimes{Interval: refusalsEvery}}
	methods := []string{} // empty, not nil: nil would mean any
	if o.Secret != "" {
		methods = append(methods, jwt.SigningMethodHS256.Alg())
		if _, err := ParseSecrets(o.Secret); err != nil {
			return nil, err
		}
	}
	if o.JWKSURL != "" {
		u, err := url.Parse(o.JWKSURL)
		if err != nil || u.Host == "" {
			return nil, errors.New("the address of the key set is not a URL")
		}
		p.keys = newKeySource("players", func(context.Context, *http.Client) (string, error) { return o.JWKSURL, nil },
			o.HTTPClient, o.Log.With("jwks", u.Redacted()))
		methods = append(methods, asymmetric...)
	}
	rules := []jwt.ParserOption{
		jwt.WithValidMethods(methods), jwt.WithExpirationRequired(), jwt.WithLeeway(leeway),
		jwt.WithTimeFunc(o.Clock), jwt.WithStrictDecoding(),
	}
	if o.Audience != "" {
		rules = append(rules, jwt.WithAudience(o.Audience))
	}
	if o.Issuer != "" {
		rules = append(rules, jwt.WithIssuer(o.Issuer))
	}
	p.parser = jwt.NewParser(rules...)
	return p, nil
}

// Secrets returns the secrets of HS256 tokens. Each is accepted, and the first signs.
func (p *Players) Secrets() []string {
	text := p.o.Secret
	if p.o.NewSecret != nil {
		text = p.o.NewSecret()
	}
	secrets, _ := ParseSecrets(text) // none for ""; others were valid when they were read
	return secrets
}

// Run fetches the key set at once and then regularly, until ctx ends. It logs failures and goes on. Without a JWKSURL
// it only waits for the end of ctx. It returns nil.
func (p *Players) Run(ctx context.Context) error {
	if p.keys == nil {
		<-ctx.Done()
		return nil
	}
	p.keys.run(ctx, p.o.Recoverer)
	return nil
}

// Grant is the content of a verified token: its player, and its expiry.
type Grant struct {
	User  string
	Until int64 // Unix ms; a clock may be seconds behind, so a token is also accepted shortly after it

	Issued  int64  // Unix ms; 0 if the token has none
	Session string // the issuer's session of the token; "" if it has none

	// As the token has them, so they are untrusted. "" if it has none.
	Name    string // the display name: the nickname, else the name
	Picture string // address of the player's picture
	Face    string // id of one of redrain's own pictures

	// Payee has the player's accounts at payment providers, by provider. It is as trusted as the token's player.
	Payee map[string]string
}

// Verify returns the id of the token's player; see Grant for the errors.
func (p *Players) Verify(ctx context.Context, token string) (user string, err error) {
	g, err := p.Grant(ctx, token)
	return g.User, err
}

// Grant verifies a player's token. For a bad token the error wraps ErrBadToken with the reason. It may be logged,
// because it holds no part of the token's signature or of a key.
//
// A token with an unknown key waits for the key set to be fetched once more, for a few seconds at most. All others
// are checked without I/O.
func (p *Players) Grant(ctx context.Context, token string) (Grant, error) {
	g, err := p.grant(ctx, token)
	if err != nil && token != "" && !errors.Is(err, jwt.ErrTokenExpired) {
		p.refusals.Do(func() {
			p.o.Log.Info("refused a player's token; others within seconds are not logged", "reason", err)
		})
	}
	return g, err
}

func (p *Players) grant(ctx context.Context, token string) (Grant, error) {
	if len(token) > maxTokenLen {
		return Grant{}, fmt.Errorf("%w: it is longer than %d bytes", ErrBadToken, maxTokenLen)
	}
	claims := jwt.MapClaims{}
	_, err := p.parser.ParseWithClaims(token, claims, func(t *jwt.Token) (any, error) {
		maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil }) // null is absent
		if t.Method == jwt.SigningMethodHS256 {
			var all jwt.VerificationKeySet
			for _, secret := range p.Secrets() {
				all.Keys = append(all.Keys, []byte(secret))
			}
			return all, checkForm(t)
		}
		return p.keys.find(ctx, t)
	})
	if errors.Is(err, ErrKeysUnavailable) {
		return Grant{}, ErrKeysUnavailable
	}
	var g Grant
	if err == nil {
		g, err = p.grantOf(claims)
	}
	if err != nil {
		return Grant{}, fmt.Errorf("%w: %w", ErrBadToken, err)
	}
	return g, nil
}

// grantOf returns the grant of a verified token's claims. It refuses a token with a longer life than allowed: from now
// on, and since it was issued.
func (p *Players) grantOf(claims jwt.MapClaims) (Grant, error) {
	g := Grant{Session: textOf(claims, "sid"), Picture: textOf(claims, "picture"), Face: textOf(claims, "face"),
		Name: cmp.Or(textOf(claims, "nickname"), textOf(claims, "name")), Payee: textsOf(claims, "payee")}
	user, isText := claims["sub"].(string)
	if !isText {
		return g, errors.New("its sub is missing, or is not a string")
	}
	if err := rain.CheckPlayer(user); err != nil {
		return g, fmt.Errorf("sub: %w", err)
	}
	expires, err := claims.GetExpirationTime()
	if err != nil {
		return g, err
	}
	issued, err := claims.GetIssuedAt()
	if err != nil {
		return g, err
	}
	g.User, g.Until = user, expires.UnixMilli()
	life := expires.Sub(p.o.Clock())
	if issued != nil {
		g.Issued = issued.UnixMilli()
		life = max(life, expires.Sub(issued.Time))
	}
	if p.o.MaxLife > 0 && life > p.o.MaxLife+leeway {
		return g, fmt.Errorf("its life is %s, and at most %s is allowed", life.Round(time.Second), p.o.MaxLife)
	}
	return g, nil
}

// textOf returns a claim, or "" if it is missing or no text.
func textOf(claims jwt.MapClaims, name string) string {
	text, _ := claims[name].(string)
	return text
}

// textsOf returns a claim's texts by their names; nil if it is missing or no object. A value that is no text is "".
func textsOf(claims jwt.MapClaims, name string) map[string]string {
	object, _ := claims[name].(map[string]any)
	if object == nil {
		return nil
	}
	texts := make(map[string]string, len(object))
	for name := range object {
		texts[name] = textOf(object, name)
	}
	return texts
}

// Persona is the player that a token is made for.
type Persona struct {
	User    string
	Name    string // the display name; "": none
	Picture string // address of the player's picture; "": none
	Face    string // id of one of redrain's own pictures; "": none
	// Payee has the player's accounts at payment providers, by provider: {"wechat": "APPID:OPENID"}. Nil: none.
	Payee map[string]string
	// Nickname is the display name of an account elsewhere; "": none.
	Nickname string
}

// Mint signs a token for a player, valid for ttl from now, or for as long as a token may be. It needs the secret, else
// ErrNoSecret.
func (p *Players) Mint(who Persona, ttl time.Duration) (token string, expires time.Time, err error) {
	secrets := p.Secrets()
	if len(secrets) == 0 {
		return "", time.Time{}, ErrNoSecret
	}
	if err := rain.CheckPlayer(who.User); err != nil {
		return "", time.Time{}, err
	}
	if p.o.MaxLife > 0 {
		ttl = min(ttl, p.o.MaxLife)
	}
	now := p.o.Clock()
	expires = now.Add(ttl).Truncate(time.Second) // the precision of a token
	claims := jwt.MapClaims{"sub": who.User, "iat": now.Unix(), "exp": expires.Unix()}
	for name, text := range map[string]string{
		"iss": p.o.Issuer, "aud": p.o.Audience, "name": who.Name, "nickname": who.Nickname, "picture": who.Picture,
		"face": who.Face,
	} {
		if text != "" {
			claims[name] = text
		}
	}
	if len(who.Payee) > 0 {
		claims["payee"] = who.Payee
	}
	token, err = jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(secrets[0]))
	if err != nil {
		return "", time.Time{}, fmt.Errorf("sign a player's token: %w", err)
	}
	return token, expires, nil
}

// NewGuest returns the id of a new guest: rain.GuestPrefix and 80 random bits in hex. Guests have accounts with
// money, so two must never get the same name. 80 random bits make that practically certain without a central
// registry.
func NewGuest() string {
	var b [rain.GuestBytes]byte
	_, _ = rand.Read(b[:]) // never fails
	return rain.GuestPrefix + hex.EncodeToString(b[:])
}
