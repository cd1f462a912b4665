package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"golang.org/x/oauth2"

	"redrain/internal/auth"
)

// answerWithin is the longest wait for a provider.
const answerWithin = 5 * time.Second

// OIDC logs players in at an OpenID Connect provider, by the authorization code flow with PKCE
// (https://openid.net/specs/openid-connect-core-1_0.html#CodeFlowAuth, RFC 7636).
type OIDC struct {
	o      OIDCOptions
	client *http.Client
}

// OIDCOptions are the settings of an OIDC. All are required unless stated otherwise.
type OIDCOptions struct {
	Issuer     Issuer
	IssuerURL  string
	ClientID   string
	Secret     func() string // returns "" for a public client
	Callback   string        // the address that the provider returns to
	HTTPClient *http.Client  // nil: a client of its own
}

// Issuer verifies a provider's ID tokens. [auth.Issuer] implements it.
type Issuer interface {
	Discovered() *auth.Discovery // nil until the provider has answered
	Identify(ctx context.Context, idToken, nonce string) (auth.Identity, error)
}

// NewOIDC returns an OIDC.
func NewOIDC(o OIDCOptions) *OIDC {
	client := o.HTTPClient
	if client == nil {
		client = newClient()
	}
	return &OIDC{o: o, client: client}
}

// newClient returns a client that sends secrets to the requested address only.
func newClient() *http.Client {
	return &http.Client{Timeout: answerWithin,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// config returns the client's configuration. The addresses come from the provider's discovery document.
func (o *OIDC) config() (*oauth2.Config, error) {
	d := o.o.Issuer.Discovered()
	if d == nil || d.AuthorizationEndpoint == "" || d.TokenEndpoint == "" {
		return nil, ErrBusy
	}
	style, secret := oauth2.AuthStyleInHeader, o.o.Secret()
	if secret == "" || len(d.TokenAuthMethods) > 0 && !slices.Contains(d.TokenAuthMethods, "client_secret_basic") {
		style = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{
		ClientID: o.o.ClientID, ClientSecret: secret, RedirectURL: o.o.Callback, Scopes: []string{"openid", "profile"},
		Endpoint: oauth2.Endpoint{AuthURL: d.AuthorizationEndpoint, TokenURL: d.TokenEndpoint, AuthStyle: style},
	}, nil
}

// Address returns the address at the provider where the player logs in. The profile is always requested.
func (o *OIDC) Address(state string, a Attempt, _ bool) (string, error) {
	c, err := o.config()
	if err != nil {
		return "", err
	}
	return c.AuthCodeURL(state, oauth2.S256ChallengeOption(a.Verifier), oauth2.SetAuthURLParam("nonce", a.Nonce)), nil
}

// Person exchanges the provider's code for the player. The errors are those of this package, or of the settings.
func (o *OIDC) Person(ctx context.Context, a Attempt, code string) (auth.Persona, error) {
	c, err := o.config()
	if err != nil {
		return auth.Persona{}, err
	}
	token, err := c.Exchange(context.WithValue(ctx, oauth2.HTTPClient, o.client), code,
		oauth2.VerifierOption(a.Verifier))
	refused, isRefused := errors.AsType[*oauth2.RetrieveError](err)
	_, isAway := errors.AsType[*url.Error](err)
	switch {
	case isRefused && refused.ErrorCode == "invalid_grant":
		return auth.Persona{}, ErrCodeRefused
	case isRefused && refused.Response.StatusCode >= http.StatusInternalServerError, isAway:
		return auth.Persona{}, ErrBusy
	case isRefused: // not the error itself: it has the provider's whole answer
		return auth.Persona{}, fmt.Errorf("exchange a code: status %d: %s: %s", refused.Response.StatusCode,
			refused.ErrorCode, refused.ErrorDescription)
	case err != nil:
		return auth.Persona{}, fmt.Errorf("exchange a code: %w", err)
	}
	idToken, _ := token.Extra("id_token").(string)
	who, err := o.o.Issuer.Identify(ctx, idToken, a.Nonce)
	switch {
	case errors.Is(err, auth.ErrIssuerUnavailable):
		return auth.Persona{}, ErrBusy
	case err != nil:
		return auth.Persona{}, fmt.Errorf("the provider's ID token: %w", err)
	}
	return auth.Persona{User: playerOf("oidc", o.o.IssuerURL, who.Subject), Nickname: who.Nickname,
		Picture: who.Picture}, nil
}
