package api

import (
	"errors"
	"net/http"

	"redrain/internal/openapi"
	"redrain/payout/ledger/chain"
	"redrain/rain"
)

// maxBreaks is how many broken places an answer names; the others are counted.
const maxBreaks = 1000

func (a *API) auditRoots(w http.ResponseWriter, r *http.Request, _ caller) error {
	return answerList(w, r, a.o.Roots.ListRoots, func(root chain.Root) chain.Root { return root })
}

// verifyAudit goes along the chains, and holds them against the roots that the ledger has and those that the caller has
// noted. It may take minutes, and changes nothing.
func (a *API) verifyAudit(w http.ResponseWriter, r *http.Request, who caller) error {
	asked, err := bodyOf[struct {
		From  string       `json:"from"`
		Roots []chain.Root `json:"roots"`
	}](w, r, who)
	if err != nil {
		return err
	}
	found := openapi.AuditVerification{Findings: []string{}}
	audited, err := a.o.Roots.Audit(r.Context(), chain.AuditOptions{From: asked.From, Noted: asked.Roots,
		Found: func(what string) {
			if len(found.Findings) < maxBreaks {
				found.Findings = append(found.Findings, what)
			}
		}})
	if unknown, ok := errors.AsType[chain.UnknownDayError](err); ok {
		return rain.Invalid{{Field: "from", Message: unknown.Error() + "; give a day that GET /audit/roots has"}}
	}
	if err != nil {
		return err
	}
	found.Roots, found.Links, found.Broken = audited.Roots, audited.Links, audited.Broken
	found.Whole = found.Broken == 0
	return answer(w, found, nil)
}
