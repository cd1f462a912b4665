package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// AuditArchive begins the name of an archive of audit records; the day of the root up to which they have left follows.
// Any other archive has the name of its campaign.
const AuditArchive = "audit to "

// KeptActions are those of audit records that never leave the books: the papers of what has left rest on the first
// ones, and the last says which receiver of withdrawals is confirmed.
var KeptActions = []string{"campaign.export", "campaign.drop", "campaign.dropped", "audit.export", "audit.drop",
	"audit.dropped", "provider"}

// Paper says what leaves the books.
type Paper struct {
	ID          string     `json:"id"`
	File        string     `json:"file"`  // SHA-256 of the export, in hexadecimal
	Links       int64      `json:"links"` // transactions, or audit records
	Payouts     int64      `json:"payouts"`
	AmountPaid  rain.Money `json:"amount_paid"`
	PacketsBack int64      `json:"packets_back"`
	AmountBack  rain.Money `json:"amount_back"`
	Actor       string     `json:"actor"`       // who has begun it
	BeganAt     int64      `json:"began_at"`    // Unix ms
	FinishedAt  int64      `json:"finished_at"` // Unix ms; 0: not yet
}

// SelectPaper selects papers, for ScanPaper.
const SelectPaper = "SELECT id, file, links, payouts, amount_paid, packets_back, amount_back, actor, began_at, " +
	"finished_at FROM archive "

// ScanPaper reads a row of SelectPaper.
func ScanPaper(scan sqldb.Scan) (p Paper, err error) {
	err = scan(&p.ID, &p.File, &p.Links, &p.Payouts, &p.AmountPaid, &p.PacketsBack, &p.AmountBack, &p.Actor, &p.BeganAt,
		&p.FinishedAt)
	return p, err
}

// day is that of the root up to which audit records have left; false: the paper is a campaign's.
func (p *Paper) day() (day string, audit bool) { return strings.CutPrefix(p.ID, AuditArchive) }

// checkWhat looks for the campaign, or the root, that the archive is of.
func (p *Paper) checkWhat(ctx context.Context, q sqldb.Querier, found func(fault string)) error {
	if day, audit := p.day(); audit {
		return p.checkDays(ctx, q, day, found)
	}
	var over bool
	known, err := q.First(ctx, []any{&over}, "SELECT status = '"+string(rain.Closed)+"' AND drained = 1 FROM campaign "+
		"WHERE id = ?", p.ID)
	if err == nil && (!known || !over) {
		found(fmt.Sprintf("archive %s is neither of a campaign that is over nor of audit records up to a day: nothing "+
			"else leaves the books", p.ID))
	}
	return err
}

// checkAudit wants the audit to say what the archive says: that it was exported, that its removal was begun, and when
// it was finished. These records never leave the books.
func (p *Paper) checkAudit(ctx context.Context, q sqldb.Querier, found func(fault string)) error {
	of, target := "campaign", "campaign:"+p.ID
	if day, audit := p.day(); audit {
		of, target = "audit", "audit:"+day
	}
	begun := *p
	begun.FinishedAt = 0
	var exports, drops, ends, others int
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		var action string
		var detail []byte
		err := scan(&action, &detail)
		var says struct {
			SHA256 string `json:"sha256"`
			Paper
		}
		if json.Unmarshal(detail, &says) != nil {
			says.Paper = Paper{}
		}
		switch {
		case action == of+".export":
			if says.SHA256 == p.File {
				exports++
			}
		case action == of+".drop" && says.Paper == begun:
			drops++
		case action == of+".dropped" && says.Paper == *p && p.FinishedAt != 0:
			ends++
		default:
			others++
		}
		return err
	}, "SELECT action, detail FROM audit WHERE target = ? AND action IN (?, ?, ?)", target, of+".export", of+".drop",
		of+".dropped")
	if err != nil {
		return fmt.Errorf("the audit of archive %s: %w", p.ID, err)
	}
	if finished := p.FinishedAt != 0; exports == 0 || drops != 1 || others > 0 || finished != (ends == 1) {
		found(fmt.Sprintf("archive %s: the audit does not say what it says: %d records of its export, %d of its "+
			"beginning, %d of its end, and %d of others", p.ID, exports, drops, ends, others))
	}
	return nil
}
