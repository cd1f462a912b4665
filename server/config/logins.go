package config

import (
	"strings"

	"redrain/internal/signed"
	"redrain/server/login"
)

// LoginReturns returns the addresses that a login may return to, which Validate has checked.
func (c *Config) LoginReturns() login.Returns {
	returns, _ := login.ParseReturns(c.loginReturn())
	return returns
}

func (c *Config) loginReturn() []string {
	if len(c.LoginReturn) == 0 && c.PublicURL != "" {
		return []string{c.PublicRoot()}
	}
	return c.LoginReturn
}

// validateLogins checks the settings of players' logins. It repeats no secret.
func (c *Config) validateLogins(fault faultFunc) {
	for _, app := range []struct{ kind, id, secret string }{
		{"login", c.WeChatLoginAppID, c.WeChatLoginSecret}, {"mini", c.WeChatMiniAppID, c.WeChatMiniSecret},
	} {
		fault((app.id == "") != (app.secret == ""), "--wechat-%s-app-id and --wechat-%s-secret: give both, or none",
			app.kind, app.kind)
		fault(strings.ContainsAny(app.id, ": "), "--wechat-%s-app-id: give the id, such as wx8888888888888888",
			app.kind)
	}
	err := signed.CheckURL(c.WeChatLoginEndpoint)
	fault(err != nil, "--wechat-login-endpoint: %w", err)
	_, err = login.ParseReturns(c.LoginReturn)
	fault(err != nil, "--login-return %w", err)
	if c.PlayerOIDCIssuer == "" {
		fault(c.PlayerOIDCClientID+c.PlayerOIDCClientSecret != "", "--player-oidc-issuer: required with "+
			"--player-oidc-client-id and --player-oidc-client-secret")
	} else {
		err := signed.CheckURL(c.PlayerOIDCIssuer)
		fault(err != nil, "--player-oidc-issuer: %w", err)
		fault(c.PlayerOIDCClientID == "", "--player-oidc-client-id: required with --player-oidc-issuer")
	}
	fault(c.WeChatLoginAppID+c.PlayerOIDCIssuer != "" && c.PublicURL == "",
		"--public-url: required with --wechat-login-app-id and --player-oidc-issuer, which return players to it")
	fault(c.WeChatLoginAppID+c.WeChatMiniAppID+c.PlayerOIDCIssuer != "" && !c.InProcess() && c.JWTSecret == "",
		"--jwt-secret: required with players' logins, to sign the players' tokens")
}
