package cli

import (
	"context"
	"errors"
)

// Run plays, compares with the ledger, and reports. It fails where a win that was told is not in the ledger as it
// was told, or where the players could not play as the protocol says.
func (c *benchCmd) Run(app *App) error {
	ctx, cancel := interruptible()
	defer cancel()
	if c.rivals() {
		return c.playRivals(ctx, app)
	}
	s, err := c.prepare(ctx, app)
	if err != nil {
		return err
	}
	defer s.close()
	report, err := s.play(ctx)
	if err != nil {
		return err
	}
	cancel() // from here on Ctrl-C ends the wait for the ledger
	after, cancelAfter := interruptible()
	defer cancelAfter()
	out := c.summary(s.campaigns, s.crowd.Progress().Connected, report)
	out.audit(s.audit(after, report))
	s.tidy(context.WithoutCancel(after))
	if err := out.show(app, c.JSON); err != nil {
		return err
	}
	if len(out.Problems) > 0 {
		errs := make([]error, len(out.Problems))
		for i, p := range out.Problems {
			errs[i] = errors.New(p)
		}
		return errors.Join(errs...)
	}
	return nil
}
