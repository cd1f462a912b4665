package api

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"redrain/docs"
	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/payout/ledger"
	"redrain/payout/ledger/chain"
	"redrain/payout/ledger/standing"
	"redrain/payout/reconcile"
	"redrain/payout/statement"
	"redrain/rain"
	"redrain/server/campaigns"
	"redrain/server/cluster"
	"redrain/server/live"
)

// TestDomainTypesHaveTheFieldsOfTheirSchemas compares the types that are not generated from docs/openapi.yaml with it:
// each has a field for every property of its schema, and no other.
func TestDomainTypesHaveTheFieldsOfTheirSchemas(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(docs.OpenAPI)
	testenv.Must(t, err)
	for schema, value := range map[string]any{
		"NewCampaign": rain.Spec{}, "NewRain": rain.RainSpec{}, "NewSplit": rain.SplitSpec{},
		"RainSettings": rain.Settings{}, "CampaignTerms": rain.Spec{},
		"SplitSummary": rain.SplitSummary{}, "OddsFrom": rain.OddsFrom{}, "FieldError": rain.FieldError{},
		"Rain": wire.Rain{}, "Withdrawal": wire.Withdrawal{}, "WithdrawalAction": wire.Action{},
		"Stats": live.Stats{}, "Alarm": cluster.Alarm{}, "Rebuilt": campaigns.Rebuilt{}, "AuditRoot": chain.Root{},
		"Reconciliation": reconcile.Reconciliation{}, "Books": reconcile.Books{}, "ProofProgress": reconcile.Progress{},
		"StatementReport": statement.Report{}, "AuditRecord": ledger.AuditRecord{},
		"Sponsor": ledger.Sponsor{}, "FoundPlayer": ledger.Player{}, "PlayerList": standing.List{},
		"ListMember": ledger.ListMember{},
	} {
		want, s := []string{}, doc.Components.Schemas[schema]
		for _, part := range append(s.Value.AllOf, s) {
			want = slices.AppendSeq(want, maps.Keys(part.Value.Properties))
		}
		got := []string{}
		for _, f := range reflect.VisibleFields(reflect.TypeOf(value)) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !f.Anonymous && name != "-" && f.IsExported() {
				got = append(got, name)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %T has the fields\n%v, the schema\n%v", schema, value, got, want)
		}
	}
}
