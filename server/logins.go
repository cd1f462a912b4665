package server

import (
	"fmt"
	"time"

	"redrain/grab/store"
	"redrain/internal/auth"
	"redrain/server/api"
	"redrain/server/cluster"
	"redrain/server/login"
)

// ticketLease is the life of the lease under which one node fetches WeChat's ticket: longer than both of its requests.
const ticketLease = 15 * time.Second

// buildLogins builds the providers where players log in.
func (s *Server) buildLogins() (err error) {
	callback := s.cfg.PublicRoot() + api.Root + "/login/"
	s.accounts = api.Accounts{Attempts: login.NewAttempts(store.NewLogins(s.redis)), Returns: s.cfg.LoginReturns(),
		Home: s.cfg.PublicRoot() + "/"}
	if s.cfg.PlayerOIDCIssuer != "" {
		s.playerIssuer, err = auth.NewIssuer(auth.IssuerOptions{
			Of: "players by OpenID Connect", Flag: "--player-oidc-issuer", Issuer: s.cfg.PlayerOIDCIssuer,
			Audience: s.cfg.PlayerOIDCClientID, Recoverer: s.recoverer, Log: s.log,
			Clock: func() time.Time { return time.UnixMilli(s.clock.Now()) },
		})
		if err != nil {
			return fmt.Errorf("--player-oidc-issuer: %w", err)
		}
		s.accounts.OIDC = login.NewOIDC(login.OIDCOptions{
			Issuer: s.playerIssuer, IssuerURL: s.cfg.PlayerOIDCIssuer, ClientID: s.cfg.PlayerOIDCClientID,
			Secret:   s.newest.of("player-oidc-client-secret", s.cfg.PlayerOIDCClientSecret),
			Callback: callback + "oidc/callback",
		})
	}
	if s.cfg.WeChatMiniAppID != "" {
		s.accounts.WeChatMini = login.NewWeChat(login.WeChatOptions{
			Endpoint: s.cfg.WeChatLoginEndpoint, App: s.cfg.WeChatMiniAppID,
			Secret: s.newest.of("wechat-mini-secret", s.cfg.WeChatMiniSecret),
		})
	}
	if s.cfg.WeChatLoginAppID != "" {
		official := login.NewWeChat(login.WeChatOptions{
			Endpoint: s.cfg.WeChatLoginEndpoint, App: s.cfg.WeChatLoginAppID,
			Secret: s.newest.of("wechat-login-secret", s.cfg.WeChatLoginSecret),
		})
		s.accounts.WeChat = login.Official{WeChat: official, Callback: callback + "wechat/callback"}
		s.tickets = login.NewTickets(login.TicketsOptions{
			WeChat: official, Store: store.NewTickets(s.redis), Recoverer: s.recoverer, Log: s.log,
			Lease: cluster.NewLease(cluster.LeaseOptions{
				Leases: s.ledger.Leases, Name: "wechat-ticket", Part: "wechat_ticket", Node: s.node, TTL: ticketLease,
				Recoverer: s.recoverer, Alarm: s.bus.Alarm, Log: s.log,
			}),
		})
		s.accounts.Sign = s.tickets.Sign
	}
	return nil
}

// signer returns the address that signs the player's page for WeChat's JS-SDK; "" if there is none.
func (s *Server) signer() string {
	if s.cfg.WeChatSign == "" && s.tickets != nil {
		return api.Root + "/wechat/sign"
	}
	return s.cfg.WeChatSign
}
