package api

import (
	"context"
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
	body, err := readBody(w, r, who)
	if err != nil {
		return err
	}
	asked := openapi.MatchStatementJSONBody{Currency: ourCurrency}
	if err := decode(body, &asked); err != nil {
		return err
	}
	compare := map[string]func(context.Context, statement.Ledger, []statement.Line,
		statement.Period) (statement.Report, error){
		"withdrawals": statement.Withdrawals, "deposits": statement.Deposits,
	}[asked.Of]
	if faults := faultsOfStatement(&asked); len(faults) > 0 {
		return faults
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

func faultsOfStatement(s *openapi.MatchStatementJSONBody) (faults rain.Invalid) {
	fault := func(field, message string) {
		faults = append(faults, rain.FieldError{Field: field, Message: message})
	}
	if s.Of != "withdrawals" && s.Of != "deposits" {
		fault("of", "say withdrawals or deposits")
	}
	if s.From < 0 || s.From >= s.To || s.To > maxTime {
		fault("from", "give a period, from and to in Unix milliseconds")
	}
	for column := range s.Columns {
		if !slices.Contains(statement.Fields, column) {
			fault("columns", "a column is one of key, reference, amount, currency and state")
			break
		}
	}
	return faults
}

// maxTime is the end of the year 9999, Unix ms.
const maxTime = 253_402_300_799_999
