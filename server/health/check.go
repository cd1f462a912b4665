package health

import (
	"context"
	"errors"
	"fmt"
)

// Check proves that one back end does what this node needs of it.
type Check struct {
	Backend string // redis, nats or mysql
	Proves  string // what works if Do returns nil, in words
	Advice  string // for an operator, if it fails
	// Do tries it and leaves nothing. ErrPartly in its error means that it works for some players.
	Do func(ctx context.Context) error
}

// ErrPartly means that a part of a back end works.
var ErrPartly = errors.New("a part of it works")

// Level is the importance of a finding.
type Level string

// The levels.
const (
	OK   Level = "ok"
	Warn Level = "warn" // it works for some players
	Fail Level = "fail"
)

// Finding is the result of a check.
type Finding struct {
	Backend string `json:"backend"`
	Level   Level  `json:"level"`
	Text    string `json:"text"`
}

// Ask runs the check once.
func (c *Check) Ask(ctx context.Context) Finding {
	err := c.Do(ctx)
	switch {
	case err == nil:
		return Finding{c.Backend, OK, c.Proves}
	case errors.Is(err, ErrPartly):
		return Finding{c.Backend, Warn, c.Explain(err).Error()}
	}
	return Finding{c.Backend, Fail, c.Explain(err).Error()}
}

// Explain adds the advice to an error of Do.
func (c *Check) Explain(err error) error { return fmt.Errorf("%w; %s", err, c.Advice) }
