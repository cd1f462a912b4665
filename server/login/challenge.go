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
	"strconv"
	"strings"
	"time"

	"github.com/altcha-org/altcha-lib-go"
)

// Errors of Check. Any other is a fault of a back end, and nothing was decided.
var (
	// ErrProofMissing: the proof is needed, or the one that came is for less than what is asked for by now.
	ErrProofMissing = errors.New("a proof is needed: do what the challenge asks for")
	// ErrProofFailed: the proof is wrong, old, somebody else's, or has been used.
	ErrProofFailed = errors.New("the proof is wrong, too old, or used: ask for a new challenge")
)

// The kinds of challenges, as --guest-challenge has them.
const (
	ChallengeNone      = "none"
	ChallengeWork      = "work"
	ChallengeTurnstile = "turnstile"
	ChallengeHCaptcha  = "hcaptcha"
)

// Challenge is what a client has to do, as it is sent to it.
type Challenge struct {
	Kind string `json:"kind"` // one of the constants above
	// Work is a challenge of ALTCHA's proof of work, version 1 (https://altcha.org/docs/proof-of-work): find the number
	// from 0 to maxNumber that, in decimal behind the salt, hashes to the challenge. The proof is the widget's payload:
	// base64 of {algorithm, challenge, number, salt, signature}.
	Work *altcha.Challenge `json:"work,omitempty"`
	// SiteKey and Script are what a widget of Turnstile or hCaptcha is made with; the proof is its response.
	SiteKey string `json:"site_key,omitempty"`
	Script  string `json:"script,omitempty"`
}

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

const (
	// workFor is how long a challenge can be answered. An old phone needs some seconds, and a person may look away.
	workFor = 10 * time.Minute
	// An address that has made many guests within the hour works more for each: once more the usual work for every
	// tenMore of them. A farm of 500 guests does thirty times the work of as many homes; the last of a hall of 300
	// people behind one address waits some seconds.
	tenMore   = 10
	loadBurst = 1000 // guests of an address that are counted
	loadRate  = loadBurst / 3600.0
	// What is asked for may have doubled while somebody worked.
	patience = 2
)

// Buckets are token buckets that all nodes share.
type Buckets interface {
	// Allow takes one token from a bucket into which rate tokens flow per second, and which holds burst of them.
	Allow(ctx context.Context, name, key string, rate, burst float64) (bool, time.Duration, error)
	// Left tells how many whole tokens such a bucket holds.
	Left(ctx context.Context, name, key string, rate, burst float64) (int64, error)
}

// Work is a proof of work: ALTCHA's, which has clients for many languages. The nodes share its key and the Buckets,
// so one may check what another has asked for.
type Work struct {
	key   string
	usual int64
	nodes Buckets
}

// NewWork makes a Work. The usual work of the first guest of an address is half as many hashes as usual says. secret
// is what the nodes share and nobody else knows.
func NewWork(secret string, usual int64, nodes Buckets) *Work {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte("redrain: guests' proof of work"))
	return &Work{key: hex.EncodeToString(mac.Sum(nil)), usual: usual, nodes: nodes}
}

// Offer makes a challenge for an address.
func (w *Work) Offer(ctx context.Context, address string) (Challenge, error) {
	most, err := w.most(ctx, address)
	if err != nil {
		return Challenge{}, err
	}
	until := time.Now().Add(workFor)
	c, err := altcha.CreateChallenge(altcha.ChallengeOptions{
		Algorithm: altcha.SHA256, MaxNumber: most, HMACKey: w.key, Expires: &until,
		Params: url.Values{"for": {w.of(address)}, "most": {strconv.FormatInt(most, 10)}},
	})
	if err != nil {
		return Challenge{}, fmt.Errorf("make a challenge: %w", err)
	}
	return Challenge{Kind: ChallengeWork, Work: &c}, nil
}

// most is the largest number that an address has to try by now.
func (w *Work) most(ctx context.Context, address string) (int64, error) {
	left, err := w.nodes.Left(ctx, "guestwork", address, loadRate, loadBurst)
	if err != nil {
		return 0, err
	}
	made := max(0, loadBurst-left)
	return w.usual + w.usual*made/tenMore, nil
}

// of hides an address in a salt, which its owner can read anyway, but others may log.
func (w *Work) of(address string) string {
	mac := hmac.New(sha256.New, []byte(w.key))
	_, _ = mac.Write([]byte(address))
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

// Check takes the proof of an address. It counts for one guest.
func (w *Work) Check(ctx context.Context, address, proof string) error {
	if proof == "" {
		return ErrProofMissing
	}
	var p altcha.Payload
	text, err := base64.StdEncoding.DecodeString(proof)
	if err != nil || json.Unmarshal(text, &p) != nil {
		return ErrProofFailed
	}
	if ok, err := altcha.VerifySolutionSafe(p, w.key, true); err != nil || !ok {
		return ErrProofFailed
	}
	said := altcha.ExtractParams(p)
	if said.Get("for") != w.of(address) {
		return ErrProofFailed
	}
	most, err := w.most(ctx, address)
	if err != nil {
		return err
	}
	if worked, err := strconv.ParseInt(said.Get("most"), 10, 64); err != nil || worked < most/patience {
		return ErrProofMissing // who collects cheap challenges for later finds them worth nothing
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
