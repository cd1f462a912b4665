package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"redrain/rain"
)

// Errors of players' tokens.
var (
	// ErrBadToken is wrapped by Verify with the reason. The same token will be refused again.
	ErrBadToken = errors.New("bad token")
	// ErrKeysUnavailable is returned by Verify while no key set could be fetched yet: nothing is known
	// against the token, and the player may try again.
	ErrKeysUnavailable = errors.New("the keys of players' tokens are not available yet")
	// ErrNoSecret is returned by Mint where there is no secret to sign with.
	ErrNoSecret = errors.New("there is no secret to sign players' tokens with")
)

const (
	// leeway is how far the clocks of this machine and of the token's issuer may be apart.
	leeway = 5 * time.Second
	// maxTokenLen bounds the work that an unauthenticated stranger can cause, in bytes. It is generous:
	// the socket takes no message above 4 KiB.
	maxTokenLen = 8 << 10
	// shortSecret is the length in bytes below which RFC 7518, section 3.2, holds an HS256 secret to be too short.
	shortSecret = 32
)

// PlayersOptions say how players' tokens are verified. The zero value verifies nothing: every token is
// refused.
type PlayersOptions struct {
	Secret     string           // of HS256 tokens; "" refuses those, and Mint
	JWKSURL    string           // where the public keys of RS256, ES256 and EdDSA tokens are; "" refuses those
	Clock      func() time.Time // the time that exp and nbf are compared with; nil: time.Now
	HTTPClient *http.Client     // fetches the key set; nil: a client of its own
	Log        *slog.Logger     // nil: slog.Default()
}

// Players verifies players' tokens, and mints them where it has the secret. It is safe for concurrent use.
type Players struct {
	secret []byte
	keys   *keySource // nil without a JWKS
	parser *jwt.Parser
	clock  func() time.Time
}

// NewPlayers makes the verifier. With a JWKSURL it starts fetching the key set, at once and
// then regularly, until ctx ends or Close is called. An endpoint that is down does not stop
// anything: the failure is logged and fetching goes on. The error is about the options only.
func NewPlayers(ctx context.Context, o PlayersOptions) (*Players, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	p := &Players{clock: o.Clock}
	methods := []string{} // empty, not nil: nil would mean any
	if o.Secret != "" {
		p.secret = []byte(o.Secret)
		methods = append(methods, jwt.SigningMethodHS256.Alg())
		if len(p.secret) < shortSecret {
			o.Log.Warn("the secret of players' tokens is short and could be guessed", "bytes", len(p.secret), "want",
				shortSecret)
		}
	}
	if o.JWKSURL != "" {
		keys, err := newKeySource(ctx, o)
		if err != nil {
			return nil, err
		}
		p.keys = keys
		methods = append(methods, jwt.SigningMethodRS256.Alg(), jwt.SigningMethodES256.Alg(),
			jwt.SigningMethodEdDSA.Alg())
	}
	p.parser = jwt.NewParser(jwt.WithValidMethods(methods), jwt.WithExpirationRequired(), jwt.WithLeeway(leeway),
		jwt.WithTimeFunc(o.Clock), jwt.WithStrictDecoding())
	return p, nil
}

// Close stops the fetching of keys and waits until it has stopped. What was fetched stays in use.
func (p *Players) Close() {
	if p.keys != nil {
		p.keys.close()
	}
}

// Verify returns the id of the player whose token it is. A token that is not good gives ErrBadToken with
// the reason, which is fit for a log and holds no part of the token's signature or of a key.
//
// A token signed with a key that is not known may wait for the key set to be fetched once more, for a few
// seconds at most; any other is judged without I/O.
func (p *Players) Verify(token string) (user string, err error) {
	if len(token) > maxTokenLen {
		return "", fmt.Errorf("%w: it is longer than %d bytes", ErrBadToken, maxTokenLen)
	}
	var claims jwt.RegisteredClaims
	if _, err := p.parser.ParseWithClaims(token, &claims, p.key); err != nil {
		if errors.Is(err, ErrKeysUnavailable) {
			return "", ErrKeysUnavailable
		}
		return "", fmt.Errorf("%w: %w", ErrBadToken, err)
	}
	if err := rain.CheckUser(claims.Subject); err != nil {
		return "", fmt.Errorf("%w: sub: %w", ErrBadToken, err)
	}
	return claims.Subject, nil
}

// key finds the key for a token whose algorithm the parser has allowed.
func (p *Players) key(t *jwt.Token) (any, error) {
	if t.Method == jwt.SigningMethodHS256 {
		return p.secret, nil
	}
	return p.keys.find(t)
}

// Mint signs a token for a player, valid for ttl from now. It needs the secret, else ErrNoSecret.
func (p *Players) Mint(user string, ttl time.Duration) (token string, expires time.Time, err error) {
	if len(p.secret) == 0 {
		return "", time.Time{}, ErrNoSecret
	}
	if err := rain.CheckUser(user); err != nil {
		return "", time.Time{}, err
	}
	now := p.clock()
	expires = now.Add(ttl).Truncate(time.Second) // what the token can say
	token, err = jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.RegisteredClaims{
		Subject:   user,
		IssuedAt:  jwt.NewNumericDate(now),
		ExpiresAt: jwt.NewNumericDate(expires),
	}).SignedString(p.secret)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("signing a player's token: %w", err)
	}
	return token, expires, nil
}
