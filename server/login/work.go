package login

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/altcha-org/altcha-lib-go"
)

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
