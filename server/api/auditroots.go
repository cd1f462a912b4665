package api

import (
	"errors"
	"net/http"

	"redrain/payout/ledger/chain"
	"redrain/rain"
)

// maxBreaks is how many broken places an answer names; the others are counted.
const maxBreaks = 1000

// auditVerification is whether the ledger's chains are whole.
type auditVerification struct {
	Whole    bool     `json:"whole"`
	Roots    int      `json:"roots"`  // that were held against the chains
	Links    int64    `json:"links"`  // rows that were looked at
	Broken   int64    `json:"broken"` // places that are not whole
	Findings []string `json:"findings"`
}

func (a *API) auditRoots(w http.ResponseWriter, r *http.Request, _ caller) error {
	return answerList(w, r, a.o.Roots.ListRoots, func(root chain.Root) chain.Root { return root })
}

// verifyAudit goes along the chains, and holds them against the roots that the ledger has and those that the caller has
// noted. It may take minutes, and changes nothing.
func (a *API) verifyAudit(w http.ResponseWriter, r *http.Request, who caller) error {
	body, err := readBody(w, r, who)
	if err != nil {
		return err
	}
	var asked struct {
		From  string       `json:"from"`
		Roots []chain.Root `json:"roots"`
	}
	if err := decode(body, &asked); err != nil {
		return err
	}
	answer := auditVerification{Findings: []string{}}
	audited, err := a.o.Roots.Audit(r.Context(), chain.AuditOptions{From: asked.From, Noted: asked.Roots,
		Found: func(what string) {
			if len(answer.Findings) < maxBreaks {
				answer.Findings = append(answer.Findings, what)
			}
		}})
	if unknown, ok := errors.AsType[chain.UnknownDayError](err); ok {
		return rain.Invalid{{Field: "from", Message: unknown.Error() + "; give a day that GET /audit/roots has"}}
	}
	if err != nil {
		return err
	}
	answer.Roots, answer.Links, answer.Broken = audited.Roots, audited.Links, audited.Broken
	answer.Whole = answer.Broken == 0
	WriteJSON(w, http.StatusOK, answer)
	return nil
}
