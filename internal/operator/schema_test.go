package operator_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"redrain/docs"
	"redrain/internal/operator"
	"redrain/internal/wire"
	"redrain/rain"
)

// TestTypesHaveTheFieldsOfTheirSchemas holds the types of requests and answers to docs/openapi.yaml: each has a field
// for every property of its schemas, and no other.
func TestTypesHaveTheFieldsOfTheirSchemas(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(docs.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	for schema, value := range map[string]any{
		"NewCampaign": rain.Spec{}, "NewRain": rain.RainSpec{}, "NewSplit": rain.SplitSpec{},
		"SplitSummary": rain.SplitSummary{},
		"Campaign":     operator.Campaign{}, "Rain": wire.Rain{}, "Stats": operator.Stats{}, "Claim": operator.Claim{},
		"Reconciliation": operator.Reconciliation{}, "Rebuilt": operator.Rebuilt{}, "Books": operator.Books{},
		"Fairness": operator.Fairness{}, "Lobby": operator.Lobby{}, "Sponsor": operator.Sponsor{},
		"Balance": operator.User{}, "Payout": operator.Payout{}, "Guest": operator.Guest{},
		"WithdrawalRecord Withdrawn": operator.Withdrawal{},
		"DeadLetter":                 operator.DeadLetter{}, "Retried": operator.Retried{},
		"AuditRecord": operator.AuditRecord{},
		"AuditRoot":   operator.AuditRoot{}, "AuditLink": operator.AuditLink{},
		"AuditVerification": operator.AuditVerification{},
		"StatementReport":   operator.StatementReport{}, "StatementFinding": operator.StatementFinding{},
		"Player": operator.Player{}, "Sanction": operator.Sanction{},
		"RiskVerdict": operator.RiskVerdict{}, "PlayerConnection": operator.PlayerConnection{},
		"HeldWin": operator.HeldWin{}, "RiskReason": operator.RiskReason{},
		"PlayerList": operator.PlayerList{}, "ListMember": operator.ListMember{},
		"Approval": operator.Approval{}, "LoginCodeRequest": operator.LoginWish{}, "LoginCode": operator.LoginCode{},
	} {
		var want []string
		for name := range strings.FieldsSeq(schema) {
			want = append(want, properties(doc.Components.Schemas[name].Value)...)
		}
		got := jsonFields(reflect.TypeOf(value))
		slices.Sort(want)
		slices.Sort(got)
		want = slices.Compact(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %T has the fields\n%v, the schema\n%v", schema, value, got, want)
		}
	}
}

// properties lists the names of a schema's properties, those of allOf included.
func properties(s *openapi3.Schema) []string {
	var names []string
	for name := range s.Properties {
		names = append(names, name)
	}
	for _, part := range s.AllOf {
		names = append(names, properties(part.Value)...)
	}
	return names
}

// jsonFields lists the names of a struct's fields in JSON, those of embedded structs included.
func jsonFields(of reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(of) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !f.Anonymous && name != "-" {
			names = append(names, name)
		}
	}
	return names
}
