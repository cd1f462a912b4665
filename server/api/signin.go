package api

import (
	"net/http"

	"redrain/internal/auth"
)

// signInView is how operators can sign in. Without a provider they paste a token.
type signInView struct {
	OIDC *oidcView `json:"oidc,omitempty"`
}

// oidcView is the identity provider, for the authorization code flow with PKCE. The endpoints are missing while it has
// not answered yet.
type oidcView struct {
	Issuer                string `json:"issuer"`
	ClientID              string `json:"client_id"`
	AuthorizationEndpoint string `json:"authorization_endpoint,omitempty"`
	TokenEndpoint         string `json:"token_endpoint,omitempty"`
	Scope                 string `json:"scope"`
}

// SignIn is the identity provider that operators can sign in at.
type SignIn struct {
	Issuer, ClientID string
	Discovered       func() *auth.Discovery // nil while it has not answered yet
}

// signInScope is what a console asks the provider for.
const signInScope = "openid profile email"

func (a *API) signIn(w http.ResponseWriter, _ *http.Request, _ caller) error {
	var view signInView
	if s := a.o.SignIn; s != nil {
		view.OIDC = &oidcView{Issuer: s.Issuer, ClientID: s.ClientID, Scope: signInScope}
		if d := s.Discovered(); d != nil {
			view.OIDC.AuthorizationEndpoint, view.OIDC.TokenEndpoint = d.AuthorizationEndpoint, d.TokenEndpoint
		}
	}
	WriteJSON(w, http.StatusOK, view)
	return nil
}
