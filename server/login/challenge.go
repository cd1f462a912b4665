package login

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/altcha-org/altcha-lib-go"

	"redrain/client/openapi"
)

// Errors of Check. Any other error comes from a back end, and nothing was decided.
var (
	// ErrProofMissing means that a proof is required, or that the proof is for too easy a challenge.
	ErrProofMissing = errors.New("a proof is needed: do what the challenge asks for")
	// ErrProofFailed means that the proof is wrong, expired, of another address, or used.
	ErrProofFailed = errors.New("the proof is wrong, too old, or used: ask for a new challenge")
)

// The kinds of challenges, as in --guest-challenge.
const (
	ChallengeNone      = "none"
	ChallengeWork      = "work"
	ChallengeTurnstile = "turnstile"
	ChallengeHCaptcha  = "hcaptcha"
)

// Challenge is a challenge in the form that is sent to the client.
type Challenge = openapi.Challenge

const (
	siteverifyWithin = 5 * time.Second
	mostSiteverify   = 64 << 10 // bytes of an answer
	mostResponse     = 4096     // bytes of a proof; Turnstile's have at most 2,048 characters
)

// Service is a CAPTCHA service.
type Service struct {
	Kind     string // KindTurnstile or KindHCaptcha
	Script   string // its widget's script
	Endpoint string // where proofs are verified
	// Sources are the origins that the page's Content-Security-Policy has to allow for the widget.
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

// Siteverify verifies each proof with a Service, which accepts a proof once.
type Siteverify struct {
	service Service
	siteKey string
	secret  func() string
	client  *http.Client
}

// NewSiteverify returns a Siteverify with the two keys that the service has issued for the site.
func NewSiteverify(s Service, siteKey string, secret func() string, transport http.RoundTripper) *Siteverify {
	return &Siteverify{service: s, siteKey: siteKey, secret: secret, client: &http.Client{
		Transport: transport, Timeout: siteverifyWithin,
		// The secret is sent to the endpoint only.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Offer returns the parameters of the widget.
func (s *Siteverify) Offer(context.Context, string) (Challenge, error) {
	return Challenge{Kind: s.service.Kind, SiteKey: s.siteKey, Script: s.service.Script}, nil
}

// Check verifies the proof of an address with the service. If the answer does not decide about the proof, the cause may
// be a wrong secret.
func (s *Siteverify) Check(ctx context.Context, address, proof string) error {
	switch {
	case proof == "":
		return ErrProofMissing
	case len(proof) > mostResponse:
		return ErrProofFailed
	}
	form := url.Values{"secret": {s.secret()}, "response": {proof}, "sitekey": {s.siteKey}}
	if !strings.HasSuffix(address, "::") { // the /64 of an IPv6 client is not an address
		form.Set("remoteip", address)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.service.Endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("verify a proof: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := s.client.Do(r)
	if err != nil {
		return fmt.Errorf("verify a proof: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	var said struct {
		Success *bool    `json:"success"`
		Codes   []string `json:"error-codes"` //nolint:tagliatelle // the services' name
	}
	// Turnstile refuses a proof with 200, hCaptcha a bad request with 400; both give the reason.
	if err := json.NewDecoder(io.LimitReader(answer.Body, mostSiteverify)).Decode(&said); err != nil {
		return fmt.Errorf("verify a proof: status %d: %w", answer.StatusCode, err)
	}
	switch {
	case said.Success == nil:
		return fmt.Errorf("verify a proof: status %d without a word about success", answer.StatusCode)
	case *said.Success:
		return nil
	case ours(said.Codes):
		return fmt.Errorf("verify a proof: %s", strings.Join(said.Codes, ", "))
	default:
		return ErrProofFailed
	}
}

// ours reports whether the error codes are about our request and not about the proof.
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

const (
	// workFor is the life of a challenge. An old phone needs some seconds, and a person may look away.
	workFor = 10 * time.Minute
	// An address that has created many guests within the hour works more for each: the usual work once more for every
	// tenMore guests. A farm of 500 guests does thirty times the work of 500 homes. The last of 300 people in a hall
	// with one address waits some seconds.
	tenMore   = 10
	loadBurst = 1000 // counted guests of an address
	loadRate  = loadBurst / 3600.0
	// The required work may double while a client works.
	patience = 2
)

// Buckets are token buckets that all nodes share.
type Buckets interface {
	// Allow takes one token from a bucket with a rate, in tokens per second, and a burst.
	Allow(ctx context.Context, name, key string, rate, burst float64) (bool, time.Duration, error)
	// Left returns the number of complete tokens in such a bucket.
	Left(ctx context.Context, name, key string, rate, burst float64) (int64, error)
}

// Work is ALTCHA's proof of work, which has clients for many languages. The nodes share its key and the Buckets, so any
// node can check any proof.
type Work struct {
	secrets func() []string
	usual   int64
	nodes   Buckets
}

// NewWork returns a Work. The average work of the first guest of an address is usual/2 hashes. The nodes share the
// secrets. Challenges are signed with the first, and proofs are accepted with each.
func NewWork(secrets func() []string, usual int64, nodes Buckets) *Work {
	return &Work{secrets: secrets, usual: usual, nodes: nodes}
}

// keyOf returns the key that is derived from a secret.
func keyOf(secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte("redrain: guests' proof of work"))
	return hex.EncodeToString(mac.Sum(nil))
}

// Offer returns a new challenge for an address.
func (w *Work) Offer(ctx context.Context, address string) (Challenge, error) {
	most, err := w.most(ctx, address)
	if err != nil {
		return Challenge{}, err
	}
	until, key := time.Now().Add(workFor), keyOf(w.secrets()[0])
	c, err := altcha.CreateChallenge(altcha.ChallengeOptions{
		Algorithm: altcha.SHA256, MaxNumber: most, HMACKey: key, Expires: &until,
		Params: url.Values{"for": {hashOf(address, key)}, "most": {strconv.FormatInt(most, 10)}},
	})
	if err != nil {
		return Challenge{}, fmt.Errorf("make a challenge: %w", err)
	}
	return Challenge{Kind: ChallengeWork, Work: &c}, nil
}

// most returns the largest number that an address has to try at present.
func (w *Work) most(ctx context.Context, address string) (int64, error) {
	left, err := w.nodes.Left(ctx, "guestwork", address, loadRate, loadBurst)
	if err != nil {
		return 0, err
	}
	made := max(0, loadBurst-left)
	return w.usual + w.usual*made/tenMore, nil
}

// hashOf hashes an address for a salt, because the salt may be logged.
func hashOf(address, key string) string {
	mac := hmac.New(sha256.New, []byte(key))
	_, _ = mac.Write([]byte(address))
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

// Check checks the proof of an address, which is valid for one guest.
func (w *Work) Check(ctx context.Context, address, proof string) error {
	if proof == "" {
		return ErrProofMissing
	}
	var p altcha.Payload
	text, err := base64.StdEncoding.DecodeString(proof)
	if err != nil || json.Unmarshal(text, &p) != nil {
		return ErrProofFailed
	}
	said := altcha.ExtractParams(p)
	if !slices.ContainsFunc(w.secrets(), func(secret string) bool {
		key := keyOf(secret)
		ok, err := altcha.VerifySolutionSafe(p, key, true)
		return err == nil && ok && said.Get("for") == hashOf(address, key)
	}) {
		return ErrProofFailed
	}
	most, err := w.most(ctx, address)
	if err != nil {
		return err
	}
	if worked, err := strconv.ParseInt(said.Get("most"), 10, 64); err != nil || worked < most/patience {
		return ErrProofMissing // cheap challenges cannot be collected for later
	}
	// The bucket is full again when the proof has expired.
	first, _, err := w.nodes.Allow(ctx, "guestproof", p.Challenge, 1/(2*workFor.Seconds()), 1)
	if err != nil {
		return err
	}
	if !first {
		return ErrProofFailed
	}
	_, _, err = w.nodes.Allow(ctx, "guestwork", address, loadRate, loadBurst)
	return err
}
