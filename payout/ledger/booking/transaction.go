package booking

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"redrain/payout/ledger/chain"
	"redrain/rain"
)

// The kinds of transaction.
const (
	KindDeposit  = "deposit"
	KindFund     = "fund"
	KindPay      = "pay"
	KindReclaim  = "reclaim"
	KindWithdraw = "withdraw"
	KindPaid     = "paid"   // of a withdrawal: the provider has paid it
	KindReturn   = "return" // of a withdrawal that is never paid

	KindHold    = "hold"    // of new wins: they move from the player to the player's held account
	KindRelease = "release" // of held wins: the player gets them
	KindConfirm = "confirm" // of held wins: the sponsor gets them back
)

// Txn is one transaction that is not posted yet.
type Txn struct {
	Kind  string
	Key   string // its purpose; the database refuses a second transaction with this key
	Lines []Line // they sum to zero
	// Papers is the SHA-256 of the source rows that justify the transaction. Package chain verifies it. Zero: none.
	Papers chain.Hash
}

// Line is one account's part of a transaction.
type Line struct {
	Account Account
	Amount  rain.Money // negative takes from the account
}

// Move makes a transaction with two lines.
func Move(kind, key string, from, to Account, amount rain.Money) Txn {
	return Txn{Kind: kind, Key: key, Lines: []Line{{from, -amount}, {to, amount}}}
}

// OverdraftError means that a transaction takes more from an account than it holds.
type OverdraftError struct {
	account Account
	Exists  bool
}

func (e *OverdraftError) Error() string {
	return fmt.Sprintf("%s: %s", e.account.ID(), ErrInsufficientFunds)
}

func (e *OverdraftError) Unwrap() error { return ErrInsufficientFunds }

// ErrInsufficientFunds is the cause of an OverdraftError.
var ErrInsufficientFunds = errors.New("the account holds less than that")

// ErrUnbalanced means a bug: the transaction is not written.
var ErrUnbalanced = errors.New("payout: the lines of a transaction do not sum to zero")

// Digest is the SHA-256 of b in hexadecimal.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
