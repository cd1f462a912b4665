package api

import (
	"net/http"

	"redrain/internal/auth"
	"redrain/internal/openapi"
)

// SignIn is the identity provider that operators can sign in at.
type SignIn struct {
	Issuer, ClientID string
	Discovered       func() *auth.Discovery // nil while it has not answered yet
}

// signInScope is what a console asks the provider for.
const signInScope = "openid profile email"

func (a *API) signIn(w http.ResponseWriter, _ *http.Request, _ caller) error {
	var view openapi.SignInConfig
	if s := a.o.SignIn; s != nil {
		view.OIDC = &openapi.IdentityProvider{Issuer: s.Issuer, ClientID: s.ClientID, Scope: signInScope}
		if d := s.Discovered(); d != nil {
			view.OIDC.AuthorizationEndpoint, view.OIDC.TokenEndpoint = d.AuthorizationEndpoint, d.TokenEndpoint
		}
	}
	return answer(w, view, nil)
}
