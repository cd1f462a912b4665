package api

import (
	"errors"
	"net/http"

	"redrain/payout/ledger/chain"
	"redrain/rain"
)

// maxFaults is how many faults an answer names; the others are counted.
const maxFaults = 1000

// auditVerification says whether the ledger's rows are what was hashed.
type auditVerification struct {
	Whole    bool     `json:"whole"`
	Roots    int      `json:"roots"`  // that were compared with the blocks
	Blocks   int64    `json:"blocks"` // that were compared with the rows
	Rows     int64    `json:"rows"`   // that were compared with their hashes
	Faults   int64    `json:"faults"`
	Findings []string `json:"findings"`
}

func (a *API) auditRoots(w http.ResponseWriter, r *http.Request, _ caller) error {
	return answerList(w, r, a.o.Roots.ListRoots, func(root chain.Root) chain.Root { return root })
}

// verifyAudit compares all rows with their hashes, blocks and roots: those that the ledger has and those that the
// caller has noted. It may take minutes, and changes nothing.
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
	v, err := a.o.Roots.Verify(r.Context(), chain.VerifyOptions{From: asked.From, Noted: asked.Roots,
		Found: func(what string) {
			if len(answer.Findings) < maxFaults {
				answer.Findings = append(answer.Findings, what)
			}
		}})
	if unknown, ok := errors.AsType[chain.UnknownDayError](err); ok {
		return rain.Invalid{{Field: "from", Message: unknown.Error() + "; give a day that GET /audit/roots has"}}
	}
	if err != nil {
		return err
	}
	answer.Roots, answer.Blocks, answer.Rows, answer.Faults = v.Roots, v.Blocks, v.Rows, v.Faults
	answer.Whole = answer.Faults == 0
	WriteJSON(w, http.StatusOK, answer)
	return nil
}
