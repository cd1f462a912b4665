package api

import (
	"slices"

	"redrain/client/openapi"
	"redrain/payout/ledger"
	"redrain/payout/statement"
	"redrain/rain"
)

// maxReference is the length limit of a deposit's reference, in bytes.
const maxReference = 128

func (a *API) deposit(q *request) (any, error) {
	in, err := bodyOf(q, openapi.Deposit{})
	if err != nil {
		return nil, err
	}
	id := q.id()
	var wrong faults
	wrong.checkErr(rain.CheckSponsor(id), "sponsor", "")
	wrong.checkAmount(in.Amount)
	wrong.checkErr(rain.CheckText(in.Reference, maxReference), "reference", "")
	if err := wrong.err(); err != nil {
		return nil, err
	}
	done, err := a.o.Approvals.Do(q.audited("deposit", detail{"amount": in.Amount, "reference": in.Reference}),
		ledger.Deed{Act: ledger.ActDeposit, Target: id, Reference: in.Reference, Amount: in.Amount}, q.person(""))
	if err != nil || done.Pending != nil {
		return pending(done), err
	}
	return created(openapi.Sponsor{Sponsor: id, Balance: done.Balance}), nil
}

func (a *API) sponsors(q *request) (any, error) { return listed(q, a.o.Sponsors.ListSponsors, same) }

func (a *API) sponsor(q *request) (any, error) {
	balance, err := a.o.Sponsors.SponsorBalance(q.Context(), q.id())
	return openapi.Sponsor{Sponsor: q.id(), Balance: balance}, err
}

// ourCurrency is the currency of the ledger.
const ourCurrency = "CNY"

// matchStatement compares the statement of a provider or a bank with the ledger. It changes nothing.
func (a *API) matchStatement(q *request) (any, error) {
	asked, err := bodyOf(q, openapi.MatchStatementJSONBody{Currency: ourCurrency})
	if err != nil {
		return nil, err
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
		return nil, err
	}
	lines, err := statement.Read(asked.File, statement.Format{Columns: asked.Columns, Minor: asked.Minor,
		End: asked.End})
	if err != nil {
		return nil, invalid("file", "%s", err)
	}
	report, err := compare(q.Context(), a.o.Statements, lines, statement.Period{From: asked.From, To: asked.To,
		Currency: asked.Currency, Receiver: asked.Receiver})
	if err != nil {
		return nil, err
	}
	if report.Differences > 0 {
		a.o.Log.WarnContext(q.Context(), "a statement differs from the ledger", "of", asked.Of, "lines", report.Lines,
			"differences", report.Differences)
	}
	return report, nil
}

// maxTime is the end of the year 9999, Unix ms.
const maxTime = 253_402_300_799_999
