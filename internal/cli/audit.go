package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"redrain/client"
	"redrain/internal/openapi"
)

type auditRootsCmd struct{ remote }

// Run prints the roots, the oldest first, a line of JSON each: the form of --audit-root-file and of audit verify
// --root.
func (c *auditRootsCmd) Run(app *App) error {
	return c.talk(func(ctx context.Context, api *client.Client) error {
		roots, err := collect(client.All(ctx, client.Pages[openapi.AuditRoot](api, nil, "audit", "roots")))
		if err != nil {
			return err
		}
		slices.Reverse(roots)
		if c.JSON {
			return printJSON(app, roots)
		}
		lines := json.NewEncoder(app.Stdout)
		for _, root := range roots {
			if err := lines.Encode(root); err != nil {
				return err
			}
		}
		return nil
	})
}

type auditVerifyCmd struct {
	From string `placeholder:"DAY" help:"Begin with the root of this day, such as 2026-11-22, and take what was before as it is. Left out: from the beginning."`
	Root string `placeholder:"FILE" help:"Roots that were kept outside of the database, as --audit-root-file and audit roots write them. They are believed before those of the database."`
	remote
}

func (c *auditVerifyCmd) check() []string {
	faults := c.remote.check()
	if _, err := time.Parse(time.DateOnly, c.From); c.From != "" && err != nil {
		faults = append(faults, "--from: give a day such as 2026-11-22")
	}
	return faults
}

// Run has the server verify the hashes. It fails if a row is not what was hashed.
func (c *auditVerifyCmd) Run(app *App) error {
	noted, err := readAuditRoots(c.Root)
	if err != nil {
		return err
	}
	return c.talk(func(ctx context.Context, api *client.Client) error {
		v, err := api.VerifyAudit(ctx, c.From, noted)
		if err != nil {
			return err
		}
		if err := c.show(app, v, func(t *table) { t.audited(v, len(noted)) }); err != nil {
			return err
		}
		if !v.Whole {
			return fmt.Errorf("the ledger was changed behind redrain's back: %s", count(int(v.Faults), "fault"))
		}
		return nil
	})
}

// readAuditRoots reads a file of roots; none where there is no name.
func readAuditRoots(name string) (roots []openapi.AuditRoot, err error) {
	if name == "" {
		return nil, nil
	}
	file, err := os.Open(name) //nolint:gosec // the caller's own
	if err != nil {
		return nil, fmt.Errorf("--root: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	lines := json.NewDecoder(file)
	lines.DisallowUnknownFields()
	for n := 1; ; n++ {
		var root openapi.AuditRoot
		err := lines.Decode(&root)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("--root: root %d in %s cannot be read: %w", n, name, err)
		}
		roots = append(roots, root)
	}
	if len(roots) == 0 {
		return nil, fmt.Errorf("--root: there is no root in %s", name)
	}
	return roots, nil
}

func (t *table) audited(v openapi.AuditVerification, noted int) {
	t.row("roots", fmt.Sprintf("%18d", v.Roots))
	t.row("noted roots", fmt.Sprintf("%18d", noted))
	t.row("blocks", fmt.Sprintf("%18d", v.Blocks))
	t.row("rows", fmt.Sprintf("%18d", v.Rows))
	for _, f := range v.Findings {
		t.row("fault", f)
	}
	if more := v.Faults - int64(len(v.Findings)); more > 0 {
		t.row("fault", fmt.Sprintf("%d more", more))
	}
	switch {
	case v.Whole && noted > 0:
		t.row("whole", "no row has changed since it was hashed")
	case v.Whole:
		t.row("whole", "every row has its hash; with --root this is also proved against changed hashes")
	}
}
