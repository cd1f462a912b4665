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
	KindPaid     = "paid"   // of a withdrawal: its money has left
	KindReturn   = "return" // of a withdrawal that is not paid and never will be

	KindHold    = "hold"    // of wins: what was paid to a player in the same breath is kept apart
	KindRelease = "release" // of held wins: the player has them
	KindConfirm = "confirm" // of held wins: the sponsor has them back
)

// Txn is one movement of money, not yet posted.
type Txn struct {
	Kind  string
	Key   string // what it is for; a second one with this key is refused by the database
	Lines []Line // they sum to zero
	// Papers is the hash of the rows that say what it is for, as package chain reads them; zero where there are none.
	Papers chain.Hash
}

// Line is one account's part of a transaction.
type Line struct {
	Account Account
	Amount  rain.Money // what is added to the account; negative takes from it
}

// Move is the transaction of two lines.
func Move(kind, key string, from, to Account, amount rain.Money) Txn {
	return Txn{Kind: kind, Key: key, Lines: []Line{{from, -amount}, {to, amount}}}
}

// OverdraftError is the error of a transaction that would take more from an account than it holds.
type OverdraftError struct {
	account Account
	Exists  bool
}

func (e *OverdraftError) Error() string {
	return fmt.Sprintf("%s: %s", e.account.ID(), ErrInsufficientFunds)
}

func (e *OverdraftError) Unwrap() error { return ErrInsufficientFunds }

// ErrInsufficientFunds is the error of a transaction that would take more from an account than it holds.
var ErrInsufficientFunds = errors.New("the account holds less than that")

// ErrUnbalanced is a fault of this program: it refuses to write it down.
var ErrUnbalanced = errors.New("payout: the lines of a transaction do not sum to zero")

// Digest is the SHA-256 of b in hexadecimal.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
