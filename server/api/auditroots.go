package api

import (
	"errors"
	"net/http"

	"redrain/internal/openapi"
	"redrain/payout/ledger/chain"
	"redrain/rain"
)

// maxFaults is how many faults an answer names; the others are counted.
const maxFaults = 1000

func (a *API) auditRoots(w http.ResponseWriter, r *http.Request, _ caller) error {
	return answerList(w, r, a.o.Roots.ListRoots, func(root chain.Root) chain.Root { return root })
}

// verifyAudit compares all rows with their hashes, blocks and roots: those that the ledger has and those that the
// caller has noted. It may take minutes, and changes nothing.
func (a *API) verifyAudit(w http.ResponseWriter, r *http.Request, who caller) error {
	asked, err := bodyOf(w, r, who, struct {
		From  string       `json:"from"`
		Roots []chain.Root `json:"roots"`
	}{})
	if err != nil {
		return err
	}
	found := openapi.AuditVerification{Findings: []string{}}
	v, err := a.o.Roots.Verify(r.Context(), chain.VerifyOptions{From: asked.From, Noted: asked.Roots,
		Found: func(what string) {
			if len(found.Findings) < maxFaults {
				found.Findings = append(found.Findings, what)
			}
		}})
	if unknown, ok := errors.AsType[chain.UnknownDayError](err); ok {
		return rain.Invalid{{Field: "from", Message: unknown.Error() + "; give a day that GET /audit/roots has"}}
	}
	if err != nil {
		return err
	}
	found.Roots, found.Blocks, found.Rows, found.Faults = v.Roots, v.Blocks, v.Rows, v.Faults
	found.Whole = found.Faults == 0
	return answer(w, found, nil)
}
