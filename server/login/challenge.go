package login

import (
	"errors"

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
