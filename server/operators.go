package server

import (
	"fmt"
	"time"

	"redrain/internal/auth"
	"redrain/rain"
	"redrain/server/api"
)

// readOperators reads the operators' file, before any connection is made.
func (s *Server) readOperators() (err error) {
	if s.cfg.OperatorsFile == "" {
		return nil
	}
	if s.named, err = auth.NewOperatorsFile(s.cfg.OperatorsFile, s.log); err != nil {
		return fmt.Errorf("--operators-file: %w", err)
	}
	return nil
}

// buildOperators builds the authentication of operators by their tokens.
func (s *Server) buildOperators() (err error) {
	var sources []auth.OperatorSource
	if s.named != nil {
		sources = append(sources, s.named)
	}
	if s.cfg.OIDCIssuer != "" {
		roles, err := s.cfg.RolesByClaim()
		if err != nil {
			return err
		}
		s.issuer, err = auth.NewIssuer(auth.IssuerOptions{
			Of: "operators", Flag: "--oidc-issuer", Issuer: s.cfg.OIDCIssuer, Audience: s.cfg.OIDCAudience,
			RolesClaim: s.cfg.OIDCRolesClaim, NameClaim: s.cfg.OIDCNameClaim, Roles: roles,
			Recoverer: s.recoverer, Log: s.log,
			Clock: func() time.Time { return time.UnixMilli(s.clock.Now()) },
		})
		if err != nil {
			return fmt.Errorf("--oidc-issuer: %w", err)
		}
		sources = append(sources, s.issuer)
	}
	s.operators = auth.NewOperators(s.newest.of("operator-token", s.cfg.OperatorToken),
		s.newest.of("viewer-token", s.cfg.ViewerToken), sources...)
	return nil
}

// signIn returns the operators' sign-in; nil without an identity provider.
func (s *Server) signIn() *api.SignIn {
	if s.issuer == nil {
		return nil
	}
	return &api.SignIn{Issuer: s.cfg.OIDCIssuer, ClientID: s.cfg.OIDCAudience, Discovered: s.issuer.Discovered}
}

// tokenEndpoint returns the address where the console exchanges the identity provider's code for a token; "" if it is
// not known yet.
func (s *Server) tokenEndpoint() string {
	if s.issuer == nil {
		return ""
	}
	if d := s.issuer.Discovered(); d != nil {
		return d.TokenEndpoint
	}
	return ""
}

// secondPersonAbove returns the amount above which an act needs two people; nil if it is not set.
func (s *Server) secondPersonAbove() *rain.Money {
	if s.cfg.SecondPersonAbove == nil {
		return nil
	}
	limit := rain.Money(*s.cfg.SecondPersonAbove)
	return &limit
}
