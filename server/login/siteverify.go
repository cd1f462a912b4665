package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	siteverifyWithin = 5 * time.Second
	mostSiteverify   = 64 << 10 // bytes of an answer
	mostResponse     = 4096     // bytes of a proof; Turnstile's have at most 2,048 characters
)

// Service is a service that tells people from programs.
type Service struct {
	Kind     string // KindTurnstile or KindHCaptcha
	Script   string // its widget's script
	Endpoint string // where proofs are verified
	// Sources are what a page of ours has to allow its widget, in the words of a Content-Security-Policy.
	Sources []string
}

// Turnstile is Cloudflare's (https://developers.cloudflare.com/turnstile/get-started/server-side-validation/).
var Turnstile = Service{
	Kind:     ChallengeTurnstile,
	Script:   "https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit",
	Endpoint: "https://challenges.cloudflare.com/turnstile/v0/siteverify",
	Sources:  []string{"https://challenges.cloudflare.com"},
}

// HCaptcha is hCaptcha (https://docs.hcaptcha.com/#verify-the-user-response-server-side).
var HCaptcha = Service{
	Kind:     ChallengeHCaptcha,
	Script:   "https://js.hcaptcha.com/1/api.js?render=explicit",
	Endpoint: "https://api.hcaptcha.com/siteverify",
	Sources:  []string{"https://hcaptcha.com", "https://*.hcaptcha.com"},
}

// Siteverify asks a Service about each proof. The services see to it that a proof counts once.
type Siteverify struct {
	service         Service
	siteKey, secret string
	client          *http.Client
}

// NewSiteverify makes a Siteverify with the two keys that the service has given for the site.
func NewSiteverify(s Service, siteKey, secret string, transport http.RoundTripper) *Siteverify {
	return &Siteverify{service: s, siteKey: siteKey, secret: secret, client: &http.Client{
		Transport: transport, Timeout: siteverifyWithin,
		// The secret goes to the endpoint and nowhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Offer tells what the page makes the widget with.
func (s *Siteverify) Offer(context.Context, string) (Challenge, error) {
	return Challenge{Kind: s.service.Kind, SiteKey: s.siteKey, Script: s.service.Script}, nil
}

// errSiteverify is an answer that says nothing about the proof. Its cause may be ours, a wrong secret for instance.
var errSiteverify = errors.New("the challenge's service did not answer as it should")

// Check asks the service about the proof of an address.
func (s *Siteverify) Check(ctx context.Context, address, proof string) error {
	switch {
	case proof == "":
		return ErrProofMissing
	case len(proof) > mostResponse:
		return ErrProofFailed
	}
	form := url.Values{"secret": {s.secret}, "response": {proof}, "sitekey": {s.siteKey}}
	if !strings.HasSuffix(address, "::") { // a whole network of IPv6 is no address
		form.Set("remoteip", address)
	}
	ctx, cancel := context.WithTimeout(ctx, siteverifyWithin)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.service.Endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("%w: %w", errSiteverify, err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := s.client.Do(r)
	if err != nil {
		return fmt.Errorf("%w: %w", errSiteverify, err)
	}
	defer func() { _ = answer.Body.Close() }()
	var said struct {
		Success *bool    `json:"success"`
		Codes   []string `json:"error-codes"` //nolint:tagliatelle // the services' name
	}
	// Turnstile refuses a proof with 200, hCaptcha a bad request with 400; both say why.
	if err := json.NewDecoder(io.LimitReader(answer.Body, mostSiteverify)).Decode(&said); err != nil {
		return fmt.Errorf("%w: status %d: %w", errSiteverify, answer.StatusCode, err)
	}
	switch {
	case said.Success == nil:
		return fmt.Errorf("%w: status %d without a word about success", errSiteverify, answer.StatusCode)
	case *said.Success:
		return nil
	case ours(said.Codes):
		return fmt.Errorf("%w: %s", errSiteverify, strings.Join(said.Codes, ", "))
	default:
		return ErrProofFailed
	}
}

// ours tells whether the service finds fault with us and not with the proof.
func ours(codes []string) bool {
	for _, c := range codes {
		switch c {
		case "missing-input-secret", "invalid-input-secret", "sitekey-secret-mismatch", "not-using-dummy-secret",
			"bad-request", "internal-error":
			return true
		}
	}
	return false
}
