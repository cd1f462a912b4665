package api

import (
	"net/http"
	"slices"

	"redrain/internal/openapi"
	"redrain/payout/statement"
	"redrain/rain"
)

// ourCurrency is what the ledger's amounts are in.
const ourCurrency = "CNY"

// matchStatement holds what a provider or a bank says against the ledger. It changes nothing.
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
	wrong.check(asked.Of == "withdrawals" || asked.Of == "deposits", "of", "say withdrawals or deposits")
	wrong.check(asked.From >= 0 && asked.From < asked.To && asked.To <= maxTime, "from",
		"give a period, from and to in Unix milliseconds")
	for column := range asked.Columns {
		wrong.check(slices.Contains(statement.Fields, column), "columns",
			"a column is one of key, reference, amount, currency and state")
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
