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
	"redrain/client/openapi"
)

type auditRootsCmd struct{ remote }

// Run prints the roots, the oldest first, a line of JSON each, as --audit-root-file has and audit verify reads them.
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
	From string `placeholder:"DAY" help:"Begin with the root of this day, such as 2026-11-22, and do not check earlier rows. Left out: from the beginning."`
	Root string `placeholder:"FILE" help:"Roots that were kept outside of the database, as --audit-root-file and audit roots write them. They take precedence over those of the database."`
	remote
}

func (c *auditVerifyCmd) check() (faults faultList) {
	_, err := time.Parse(time.DateOnly, c.From)
	faults.when(c.From != "" && err != nil, "--from: give a day such as 2026-11-22")
	return faults
}

// Run makes the server verify the hashes. It fails if a row does not match its hash.
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
		if !v.Whole {
			err = fmt.Errorf("the ledger was changed behind redrain's back: %s", count(int(v.Faults), "fault"))
		}
		return errors.Join(app.show(c.JSON, audited{v, len(noted)}), err)
	})
}

// readAuditRoots reads a file of roots; none without a name.
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
	for n := 1; ; n++ { // More would take a lone bracket for the end
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

// audited is the result of a verification with a number of noted roots.
type audited struct {
	openapi.AuditVerification
	noted int
}

func (v audited) show(t *table) {
	t.row("roots", fmt.Sprintf("%18d", v.Roots))
	t.row("noted roots", fmt.Sprintf("%18d", v.noted))
	t.row("blocks", fmt.Sprintf("%18d", v.Blocks))
	t.row("rows", fmt.Sprintf("%18d", v.Rows))
	for _, f := range v.Findings {
		t.row("fault", f)
	}
	if more := v.Faults - int64(len(v.Findings)); more > 0 {
		t.row("fault", fmt.Sprintf("%d more", more))
	}
	switch {
	case v.Whole && v.noted > 0:
		t.row("whole", "no row has changed since it was hashed")
	case v.Whole:
		t.row("whole", "every row has its hash; with --root this is also proved against changed hashes")
	}
}

type statementMatchCmd struct {
	Provider string            `typed:"" placeholder:"FILE" help:"A payment provider's statement, to be compared with withdrawals: CSV, or camt.05x."`
	Bank     string            `placeholder:"FILE" help:"A bank's statement, to be compared with deposits: camt.052, camt.053 or camt.054, or CSV."`
	From     string            `required:"true" placeholder:"DAY" help:"Start of its period: a day in UTC, such as 2026-11-22, or a time, such as 2026-11-22T00:00:00+08:00."`
	To       string            `required:"true" placeholder:"DAY" help:"End of its period. A day is included, a time is not."`
	Columns  map[string]string `mapsep:"," placeholder:"FIELD=HEADER,…" help:"Headers of a CSV's columns key, reference, amount, currency and state. Those left out have these names."`
	Minor    bool              `help:"Amounts of a CSV are in the smallest unit, fen."`
	End      string            `placeholder:"TEXT" help:"Beginning of the first cell of a CSV's row after which no payments come, such as a summary."`
	Currency string            `default:"CNY" help:"Currency of the ledger."`
	Receiver string            `help:"Expect only withdrawals that were sent to this receiver, as redrain withdrawal show names it."`
	remote
}

// The size limit of a statement's file: the server's limit, less the overhead of base64.
const mostStatement = 11 << 20

func (c *statementMatchCmd) check() (faults faultList) {
	faults.when((c.Provider == "") == (c.Bank == ""), "--provider, --bank: give one of them")
	from, early := statementTime(c.From, false)
	faults.when(early != nil, fmt.Sprint("--from: ", early))
	to, late := statementTime(c.To, true)
	faults.when(late != nil, fmt.Sprint("--to: ", late))
	faults.when(early == nil && late == nil && from >= to, "--to: it is not after --from")
	return faults
}

// statementTime parses a day or a time, Unix ms. With end, a day means its last moment.
func statementTime(text string, end bool) (ms int64, err error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UnixMilli(), nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return 0, fmt.Errorf("give a day such as 2026-11-22, or a time such as 2026-11-22T00:00:00+08:00")
	}
	if end {
		day = day.AddDate(0, 0, 1)
	}
	return day.UnixMilli(), nil
}

// Run makes the server compare. It fails if there is a difference.
func (c *statementMatchCmd) Run(app *App) error {
	asked := openapi.MatchStatementJSONBody{Of: "withdrawals", Columns: c.Columns, Minor: c.Minor, End: c.End,
		Currency: c.Currency, Receiver: c.Receiver}
	name := c.Provider
	if c.Bank != "" {
		asked.Of, name = "deposits", c.Bank
	}
	var err error
	if asked.File, err = readStatement(name); err != nil {
		return err
	}
	asked.From, _ = statementTime(c.From, false) // check has validated them
	asked.To, _ = statementTime(c.To, true)
	return c.talk(func(ctx context.Context, api *client.Client) error {
		r, err := api.MatchStatement(ctx, asked)
		if err != nil {
			return err
		}
		if r.Differences > 0 {
			err = fmt.Errorf("the statement and the ledger differ: %s", count(r.Differences, "difference"))
		}
		return errors.Join(app.show(c.JSON, statement(r)), err)
	})
}

func readStatement(name string) (data []byte, err error) {
	is, err := os.Stat(name)
	if err == nil && is.Size() > mostStatement {
		err = fmt.Errorf("it is longer than %d MiB; take a shorter period", mostStatement>>20)
	}
	if err == nil {
		data, err = os.ReadFile(name) //nolint:gosec // the caller's own
	}
	if err != nil {
		return nil, fmt.Errorf("the statement %s: %w", name, err)
	}
	return data, nil
}

type statement openapi.StatementReport

func (r statement) show(t *table) {
	t.row("lines", r.Lines)
	t.row("matched", r.Matched)
	t.row("ignored", r.Ignored)
	t.row("differences", r.Differences)
	for _, f := range r.Findings {
		text := f.Name
		if f.Line > 0 {
			text += fmt.Sprintf(", line %d", f.Line)
		}
		if f.Ours != nil {
			text += fmt.Sprintf(", %v here", *f.Ours)
		}
		if f.Theirs != nil {
			text += fmt.Sprintf(", %v there", *f.Theirs)
		}
		t.row(f.Kind, text+": "+f.Note)
	}
	if more := r.Differences - len(r.Findings); more > 0 {
		t.row("", fmt.Sprintf("%d more", more))
	}
}
