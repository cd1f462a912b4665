package api

import (
	"net/http"
	"slices"

	"redrain/internal/openapi"
	"redrain/payout/ledger"
	"redrain/payout/statement"
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

// ourCurrency is the currency of the ledger.
const ourCurrency = "CNY"

// matchStatement compares the statement of a provider or a bank with the ledger. It changes nothing.
func (a *API) matchStatement(w http.ResponseWriter, r *http.Request, who caller) error {
	asked, err := bodyOf(w, r, who, openapi.MatchStatementJSONBody{Currency: ourCurrency})
	if err != nil {
		return err
	}
	compare := statement.Deposits
	if asked.Of == "withdrawals" {
		compare = statement.Withdrawals
	}
	var wrong faults
	wrong.check(asked.Of == "withdrawals" || asked.Of == "deposits", "of", "give withdrawals or deposits")
	wrong.check(asked.From >= 0 && asked.From < asked.To && asked.To <= maxTime, "from",
		"give a period, from and to in Unix milliseconds")
	for column := range asked.Columns {
		if !slices.Contains(statement.Fields, column) {
			wrong.check(false, "columns", "a column is one of key, reference, amount, currency and state")
			break
		}
	}
	if err := wrong.err(); err != nil {
		return err
	}
	lines, err := statement.Read(asked.File, statement.Format{Columns: asked.Columns, Minor: asked.Minor,
		End: asked.End})
	if err != nil {
		return rain.Invalid{{Field: "file", Message: err.Error()}}
	}
	report, err := compare(r.Context(), a.o.Statements, lines, statement.Period{From: asked.From, To: asked.To,
		Currency: asked.Currency, Receiver: asked.Receiver})
	if err != nil {
		return err
	}
	if report.Differences > 0 {
		a.o.Log.WarnContext(r.Context(), "a statement differs from the ledger", "of", asked.Of, "lines", report.Lines,
			"differences", report.Differences)
	}
	return answer(w, report, nil)
}

// maxTime is the end of the year 9999, Unix ms.
const maxTime = 253_402_300_799_999
