package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"redrain/internal/loop"
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
	// maxTokenLen limits the work that a stranger's token can cause, in bytes. It is generous: a socket's messages
	// are limited to 4 KiB.
	maxTokenLen = 8 << 10
	// shortSecret is the least length of an HS256 secret in bytes, by RFC 7518, section 3.2.
	shortSecret = 32
)

// asymmetric lists the algorithms of tokens that a provider's key signs.
var asymmetric = []string{
	jwt.SigningMethodRS256.Alg(), jwt.SigningMethodES256.Alg(), jwt.SigningMethodEdDSA.Alg(),
}

// checkCritical refuses a token with extensions that must be understood (RFC 7515, section 4.1.11). None is known here.
// The JWT library does not check them. An empty list is not allowed either.
func checkCritical(t *jwt.Token) error {
	if _, asks := t.Header["crit"]; asks {
		return errors.New("it has a crit header, and no extensions are understood here")
	}
	return nil
}

// PlayersOptions configure the verification of players' tokens. With the zero value, every token is refused.
type PlayersOptions struct {
	Secret     string           // signs HS256 tokens; "" refuses them, and Mint fails
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
}

// NewPlayers returns the verifier. With a JWKSURL, Run keeps the key set fresh. An error is about the options.
func NewPlayers(o PlayersOptions) (*Players, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	p := &Players{o: o}
	methods := []string{} // empty, not nil: nil would mean any
	if o.Secret != "" {
		methods = append(methods, jwt.SigningMethodHS256.Alg())
		if len(o.Secret) < shortSecret {
			o.Log.Warn("the secret of players' tokens is short and could be guessed", "bytes", len(o.Secret),
				"want", shortSecret)
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
	if len(token) > maxTokenLen {
		return Grant{}, fmt.Errorf("%w: it is longer than %d bytes", ErrBadToken, maxTokenLen)
	}
	claims := jwt.MapClaims{}
	_, err := p.parser.ParseWithClaims(token, claims, func(t *jwt.Token) (any, error) {
		maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil }) // null is absent
		if t.Method == jwt.SigningMethodHS256 {
			return []byte(p.o.Secret), checkCritical(t)
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
		Name: cmp.Or(textOf(claims, "nickname"), textOf(claims, "name"))}
	user, err := claims.GetSubject()
	if err == nil {
		err = rain.CheckUser(user)
	}
	if err != nil {
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

// Persona is the player that a token is made for.
type Persona struct {
	User    string
	Name    string // the display name; "": none
	Picture string // address of the player's picture; "": none
	Face    string // id of one of redrain's own pictures; "": none
}

// Mint signs a token for a player, valid for ttl from now, or for as long as a token may be. It needs the secret, else
// ErrNoSecret.
func (p *Players) Mint(who Persona, ttl time.Duration) (token string, expires time.Time, err error) {
	if p.o.Secret == "" {
		return "", time.Time{}, ErrNoSecret
	}
	if err := rain.CheckUser(who.User); err != nil {
		return "", time.Time{}, err
	}
	if p.o.MaxLife > 0 {
		ttl = min(ttl, p.o.MaxLife)
	}
	now := p.o.Clock()
	expires = now.Add(ttl).Truncate(time.Second) // the precision of a token
	claims := jwt.MapClaims{"sub": who.User, "iat": now.Unix(), "exp": expires.Unix()}
	for name, text := range map[string]string{
		"iss": p.o.Issuer, "aud": p.o.Audience, "name": who.Name, "picture": who.Picture, "face": who.Face,
	} {
		if text != "" {
			claims[name] = text
		}
	}
	token, err = jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(p.o.Secret))
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
