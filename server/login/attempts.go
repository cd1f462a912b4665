package login

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"strings"
	"time"
)

// AttemptLife is the time that a player has to log in at a provider.
const AttemptLife = 10 * time.Minute

// Errors of a login at a provider. Any other error is a fault of the settings or of the provider, for the log.
var (
	// ErrNoAttempt means that no attempt of the browser has this state.
	ErrNoAttempt = errors.New("the login was not begun in this browser, was finished before, or took too long: begin " +
		"again")
	// ErrDenied means that the player or the provider does not want the login.
	ErrDenied = errors.New("the login was cancelled, or the provider does not allow it")
	// ErrCodeRefused means that the provider's code was used, has expired, or was never issued to this app.
	ErrCodeRefused = errors.New("the provider refuses the code: it was used, has expired, or belongs to another app")
	// ErrBusy means that the provider cannot answer now.
	ErrBusy = errors.New("the provider is busy or does not answer; try again shortly")
	// ErrSnapshot means that WeChat shows a snapshot of the page, in which the account is not a real one.
	ErrSnapshot = errors.New("WeChat shows a snapshot of the page: press 使用完整服务 (use the full service) first")
)

// Attempt is a login in progress: it began here, and the player is at the provider.
type Attempt struct {
	Provider string `json:"provider"`
	Return   string `json:"return"`  // the address to return to, which was checked
	Browser  string `json:"browser"` // hash of the browser's cookie
	// Nonce and Verifier bind the provider's answer to this attempt. The provider gets the nonce, and the hash of the
	// verifier (RFC 7636).
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
}

// NewAttempt returns an attempt of a browser, which is known by the value of its cookie.
func NewAttempt(provider, back, browser string) Attempt {
	// A verifier has 43 characters or more.
	return Attempt{Provider: provider, Return: back, Browser: hashOfBrowser(browser), Nonce: rand.Text(),
		Verifier: rand.Text() + rand.Text()}
}

// isOf reports whether a browser has made the attempt. Without this check a stranger could make a player's browser
// finish the stranger's login, and the player would withdraw to the stranger.
func (a Attempt) isOf(provider, browser string) bool {
	sum := hashOfBrowser(browser)
	return a.Provider == provider && browser != "" && subtle.ConstantTimeCompare([]byte(a.Browser), []byte(sum)) == 1
}

func hashOfBrowser(cookie string) string {
	sum := sha256.Sum256([]byte(cookie))
	return hex.EncodeToString(sum[:])
}

// Attempts keeps attempts for all nodes: the provider may return the player to another one. It is safe for concurrent
// use.
type Attempts struct{ store Store }

// NewAttempts returns Attempts on a store.
func NewAttempts(store Store) *Attempts { return &Attempts{store} }

const ofAttempt = "redrain: name and key of a login attempt"

// Begin keeps an attempt, and returns its state, which the provider returns.
func (a *Attempts) Begin(ctx context.Context, one Attempt) (state string, err error) {
	return keep(ctx, a.store, ofAttempt, one, AttemptLife)
}

// Take returns a provider's attempt of a state and a browser, or ErrNoAttempt. A state works once, so a replayed answer
// is refused.
func (a *Attempts) Take(ctx context.Context, provider, browser, state string) (one Attempt, err error) {
	err = take(ctx, a.store, ofAttempt, state, &one)
	if errors.Is(err, ErrNoCode) || err == nil && !one.isOf(provider, browser) {
		return Attempt{}, ErrNoAttempt
	}
	return one, err
}

// playerOf returns the id of the player with an account elsewhere. It is a hash, because ids of players are shown to
// others and logged, and an account's id must not be.
//
// The hash has no key. A player's money belongs to this id, so a key could never be replaced. An openid has 120 random
// bits, so it cannot be found by trying. Only a party that has an openid already can compute the player's id.
func playerOf(prefix string, account ...string) string {
	sum := sha256.Sum256([]byte("redrain: player\x00" + prefix + "\x00" + strings.Join(account, "\x00")))
	return prefix + "-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:20]))
}
