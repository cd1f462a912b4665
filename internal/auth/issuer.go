package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"redrain/internal/loop"
)

// ErrIssuerUnavailable is returned for a token of an identity provider whose keys cannot be fetched. The token may be
// valid: the operator may try again.
var ErrIssuerUnavailable = errors.New("the identity provider does not answer, so its tokens cannot be checked for " +
	"now; tokens of the operators' file can")

// IssuerOptions configure the verification of tokens of an identity provider.
type IssuerOptions struct {
	Of         string            // whose tokens, for the log
	Flag       string            // the setting of Issuer, for errors
	Issuer     string            // its address, as its tokens name it
	Audience   string            // required audience of tokens: the client id
	RolesClaim string            // has the roles; dots lead into objects
	NameClaim  string            // has the person's name; if it is missing, sub is the name
	Roles      map[string][]Role // by the values of the claim; nil: the values are the roles' names
	Clock      func() time.Time  // nil: time.Now
	Recoverer  *loop.Recoverer   // nil: panics are logged only
	Log        *slog.Logger
}

// Issuer verifies tokens of an OpenID Connect provider, whose keys it fetches: those of operators, and ID tokens of
// players. It is safe for concurrent use.
type Issuer struct {
	o      IssuerOptions
	keys   *keySource
	parser *jwt.Parser
	found  atomic.Pointer[Discovery]
}

// Discovery is the provider's discovery document.
type Discovery struct {
	Issuer                string `json:"issuer"`
	KeySet                string `json:"jwks_uri"`
	AuthorizationEndpoint string `json:"authorization_endpoint"`
	TokenEndpoint         string `json:"token_endpoint"`
	// TokenAuthMethods are the ways in which a client sends its secret; empty: as client_secret_basic.
	TokenAuthMethods []string `json:"token_endpoint_auth_methods_supported"`
}

// NewIssuer returns the verifier. Run keeps the provider's keys fresh.
func NewIssuer(o IssuerOptions) (*Issuer, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	u, err := url.Parse(o.Issuer)
	if err != nil || u.Host == "" {
		return nil, errors.New("the issuer is not a URL")
	}
	i := &Issuer{o: o}
	i.keys = newKeySource(o.Of, i.locate, nil, o.Log.With("issuer", u.Redacted()))
	i.parser = jwt.NewParser(
		jwt.WithValidMethods(asymmetric), jwt.WithExpirationRequired(), jwt.WithLeeway(leeway),
		jwt.WithTimeFunc(o.Clock), jwt.WithStrictDecoding(), jwt.WithIssuer(o.Issuer), jwt.WithAudience(o.Audience),
	)
	return i, nil
}

// Run fetches the provider's keys at once and then regularly, until ctx ends.
func (i *Issuer) Run(ctx context.Context) error {
	i.keys.run(ctx, i.o.Recoverer)
	return nil
}

// Discovered returns the provider's latest discovery document; nil while it has not answered yet.
func (i *Issuer) Discovered() *Discovery { return i.found.Load() }

// Operator returns the owner of a token. A token that does not name the provider is ErrNoOperator without any I/O,
// also while the provider is away.
func (i *Issuer) Operator(ctx context.Context, bearer string) (Operator, error) {
	claims, err := i.verify(ctx, bearer)
	if errors.Is(err, ErrIssuerUnavailable) {
		return Operator{}, err
	}
	var who Operator
	if err == nil {
		who, err = i.personOf(claims)
	}
	if err != nil {
		return Operator{}, fmt.Errorf("%w: %w", ErrNoOperator, err)
	}
	return who, nil
}

// verify returns the claims of a token, after all checks that the two kinds have in common.
func (i *Issuer) verify(ctx context.Context, token string) (jwt.MapClaims, error) {
	if len(token) > maxTokenLen {
		return nil, fmt.Errorf("it is longer than %d bytes", maxTokenLen)
	}
	claims := jwt.MapClaims{}
	_, err := i.parser.ParseWithClaims(token, claims, func(t *jwt.Token) (any, error) {
		if textOf(claims, "iss") != i.o.Issuer {
			return nil, errors.New("it is of another issuer")
		}
		return i.keys.find(ctx, t)
	})
	if errors.Is(err, ErrKeysUnavailable) || errors.Is(err, errUnknownKey) && i.keys.away() {
		return nil, ErrIssuerUnavailable
	}
	return claims, err
}

// Identity is the person of an ID token.
type Identity struct {
	Subject string // unique at the provider, and never given to another person
	// As the provider has them; "" if it has none.
	Nickname string // the nickname, else the name
	Picture  string // address of a picture
}

// Identify returns the person of an ID token that answers a login with a nonce. It makes the checks of OpenID Connect
// Core 1.0, section 3.1.3.7 (https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation). The errors are
// ErrIssuerUnavailable, or wrap ErrBadToken.
func (i *Issuer) Identify(ctx context.Context, idToken, nonce string) (Identity, error) {
	claims, err := i.verify(ctx, idToken)
	who := Identity{Subject: textOf(claims, "sub"), Picture: textOf(claims, "picture"),
		Nickname: cmp.Or(textOf(claims, "nickname"), textOf(claims, "name"))}
	switch azp := textOf(claims, "azp"); {
	case errors.Is(err, ErrIssuerUnavailable):
		return Identity{}, err
	case err != nil:
	case nonce == "" || textOf(claims, "nonce") != nonce:
		err = errors.New("its nonce is of another login")
	case azp != "" && azp != i.o.Audience:
		err = errors.New("it is for another client")
	case who.Subject == "" || len(who.Subject) > maxSubject:
		err = fmt.Errorf("its sub is missing or longer than %d bytes", maxSubject)
	}
	if err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrBadToken, err)
	}
	return who, nil
}

// personOf returns the subject of a verified token.
func (i *Issuer) personOf(claims jwt.MapClaims) (Operator, error) {
	sub := textOf(claims, "sub")
	if sub == "" || len(sub) > maxSubject {
		return Operator{}, fmt.Errorf("its sub is missing or longer than %d bytes", maxSubject)
	}
	name, named := claims[i.o.NameClaim].(string)
	verified := fmt.Sprint(claims["email_verified"]) != "false" // some providers write it as a text
	if !named || i.o.NameClaim == "email" && !verified {
		name = sub // people may edit their own profile, so it names no person
	}
	if err := CheckOperatorName(name); err != nil {
		return Operator{}, err
	}
	who := Operator{Name: name, ID: "oidc:" + sub}
	for _, value := range valuesOf(claims, i.o.RolesClaim) {
		for _, role := range i.rolesBy(value) {
			if !slices.Contains(who.Roles, role) {
				who.Roles = append(who.Roles, role)
			}
		}
	}
	return who, nil
}

// maxSubject is the longest sub of a provider's token, in bytes; OpenID Connect allows 255.
const maxSubject = 255

// rolesBy returns the roles for a value of the claim. An unknown value is meant for other systems.
func (i *Issuer) rolesBy(value string) []Role {
	if i.o.Roles != nil {
		return i.o.Roles[value]
	}
	roles, err := ParseRoles(value)
	if err != nil {
		return nil
	}
	return roles
}

// valuesOf returns the texts of a claim. Its name may be that of a claim with dots in it, or a path into objects.
func valuesOf(claims map[string]any, name string) (values []string) {
	at, is := claims[name]
	if head, rest, dots := strings.Cut(name, "."); !is && dots {
		inner, _ := claims[head].(map[string]any)
		return valuesOf(inner, rest)
	}
	switch at := at.(type) {
	case string:
		return []string{at}
	case []any:
		for _, one := range at {
			if text, ok := one.(string); ok {
				values = append(values, text)
			}
		}
	}
	return values
}

// locate reads the address of the provider's keys.
func (i *Issuer) locate(ctx context.Context, client *http.Client) (string, error) {
	var d Discovery
	address := strings.TrimSuffix(i.o.Issuer, "/") + "/.well-known/openid-configuration"
	if err := getJSON(ctx, client, address, &d); err != nil {
		return "", fmt.Errorf("read the provider's discovery document: %w", err)
	}
	if d.Issuer != i.o.Issuer {
		return "", fmt.Errorf("the provider's issuer is %q; set %s to exactly this", d.Issuer, i.o.Flag)
	}
	if u, err := url.Parse(d.KeySet); err != nil || u.Host == "" {
		return "", errors.New("the provider's discovery document has no jwks_uri")
	}
	i.found.Store(&d)
	return d.KeySet, nil
}
