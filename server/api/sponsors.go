package api

import (
	"net/http"

	"redrain/internal/openapi"
	"redrain/payout/ledger"
	"redrain/rain"
)

// maxReference is the length limit of a deposit's reference, in bytes.
const maxReference = 128

func (a *API) deposit(r *http.Request, who caller, body []byte, _ string) (int, any, error) {
	var in openapi.Deposit
	if err := decode(body, &in); err != nil {
		return 0, nil, err
	}
	id := r.PathValue("id")
	var wrong faults
	wrong.checkErr(rain.CheckSponsor(id), "sponsor", "")
	wrong.checkAmount(in.Amount)
	wrong.check(in.Reference != "" && len(in.Reference) <= maxReference, "reference",
		"is required: 1 to %d bytes that identify this deposit", maxReference)
	if err := wrong.err(); err != nil {
		return 0, nil, err
	}
	done, err := a.o.Approvals.Do(a.audited(r, who, "deposit",
		map[string]any{"amount": in.Amount, "reference": in.Reference}),
		ledger.Deed{Act: ledger.ActDeposit, Target: id, Reference: in.Reference, Amount: in.Amount}, personOf(who, ""))
	if err != nil {
		return 0, nil, err
	}
	if done.Pending != nil {
		return http.StatusAccepted, approvalViewOf(*done.Pending), nil
	}
	return http.StatusCreated, openapi.Sponsor{Sponsor: id, Balance: done.Balance}, nil
}

func (a *API) sponsors(w http.ResponseWriter, r *http.Request, _ caller) error {
	return answerList(w, r, a.o.Sponsors.ListSponsors, func(s ledger.Sponsor) openapi.Sponsor {
		return openapi.Sponsor{Sponsor: s.ID, Balance: s.Balance}
	})
}

func (a *API) sponsor(w http.ResponseWriter, r *http.Request, _ caller) error {
	balance, err := a.o.Sponsors.SponsorBalance(r.Context(), r.PathValue("id"))
	return answer(w, openapi.Sponsor{Sponsor: r.PathValue("id"), Balance: balance}, err)
}
