package cli

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"

	"redrain/client"
	"redrain/payout/export"
)

type campaignExportCmd struct {
	To string `need:"" placeholder:"FILE" help:"The new file: lines of JSON, gzip. Required; it must not exist yet."`
	oneCampaign
}

// Run writes the file under another name, and renames it after the verification: a partial file gets no name.
func (c *campaignExportCmd) Run(app *App) error {
	if _, err := os.Lstat(c.To); err == nil {
		return fmt.Errorf("--to: %s is there already", c.To)
	}
	part := c.To + ".part"
	return c.talk(func(ctx context.Context, api *client.Client) error {
		if err := c.fetch(ctx, api, part); err != nil {
			_ = os.Remove(part) // it may not exist, and the error is reported
			return err
		}
		v, err := verifyExport(part)
		if err != nil {
			return err
		}
		if err := app.show(c.JSON, v); err != nil {
			return err
		}
		if !v.Proved {
			return fmt.Errorf("campaign %s: the export is not proved; it is kept as %s", c.Campaign, part)
		}
		return os.Rename(part, c.To)
	})
}

// fetch writes the export to a file and syncs it to the disk.
func (c *campaignExportCmd) fetch(ctx context.Context, api *client.Client, name string) (err error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // the caller's own
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := api.ExportCampaign(ctx, c.Campaign, file); err != nil {
		return err
	}
	return file.Sync()
}

type campaignVerifyCmd struct {
	File string `arg:"" help:"A file that campaign export has written."`
	JSON bool   `name:"json" help:"Answer in JSON."`
}

// Run verifies the file. It fails if there is a fault.
func (c *campaignVerifyCmd) Run(app *App) error {
	v, err := verifyExport(c.File)
	if err != nil {
		return err
	}
	if !v.Proved {
		err = fmt.Errorf("%s was changed: it is not what the ledger has written", c.File)
	}
	return errors.Join(app.show(c.JSON, v), err)
}

func verifyExport(name string) (v exported, err error) {
	file, err := os.Open(name) //nolint:gosec // the caller's own
	if err != nil {
		return v, err
	}
	defer func() { _ = file.Close() }() // it was only read
	packed, err := gzip.NewReader(file)
	if err != nil {
		return v, fmt.Errorf("%s: %w: %w", name, export.ErrNoExport, err)
	}
	found, err := export.Verify(packed)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return exported(found), err
}

type exported export.Verified

func (v exported) show(t *table) {
	t.row("campaign", v.Campaign)
	t.row("taken", t.at(v.TakenAt))
	t.row("budget", v.Budget)
	t.row("paid", v.Paid)
	t.row("reclaimed", v.Reclaimed)
	t.row("rows", v.Rows)
	t.row("hashes", v.Hashes)
	t.row("sha256", v.SHA256)
	for _, f := range v.Findings {
		t.row("wrong", f)
	}
	if v.More > 0 {
		t.row("wrong", fmt.Sprintf("%d more", v.More))
	}
	if v.Proved {
		t.row("proved", "every cent is where the split says, and every row is what was hashed")
	}
}
