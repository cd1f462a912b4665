package web_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"redrain/docs"
	"redrain/internal/testenv"
	"redrain/rain"
	"redrain/web/bundle"
)

// formTests is the tests of the console's forms and lists, with their modules in them.
var formTests = sync.OnceValues(func() ([]byte, error) { return bundle.Script(".", "testdata/forms.ts") })

// TestConsoleFormModules runs web/testdata/forms.ts.
func TestConsoleFormModules(t *testing.T) {
	testenv.ParallelBrowser(t, testenv.Heavy)
	p := openPage(t, newFake(t), "/docs", 1280, 900)
	report := eval[struct {
		Ran    int      `json:"ran"`
		Faults []string `json:"faults"`
	}](p, `import("/testdata/forms.js").then((m) => m.run())`)
	for _, fault := range report.Faults {
		t.Error(fault)
	}
	if report.Ran == 0 {
		t.Error("no test ran")
	}
}

// written is a campaign as an operator writes it in the form, and as it should reach the server.
type written struct {
	name  string
	draft map[string]string // what differs from a good one
	spec  func(*rain.Spec)  // the same for the server
}

func TestTheFormHasTheServersLimits(t *testing.T) {
	testenv.ParallelBrowser(t, testenv.Heavy)
	const week = 7 * 24 * 3_600_000
	set := func(field string, value any) func(*rain.Spec) {
		return func(s *rain.Spec) {
			data, err := json.Marshal(map[string]any{field: value})
			if err == nil {
				err = json.Unmarshal(data, s)
			}
			if err != nil {
				panic(err)
			}
		}
	}
	list := func(amounts ...rain.Money) func(*rain.Spec) {
		return func(s *rain.Spec) {
			total, _ := rain.Sum(amounts)
			s.Split, s.Amounts, s.Budget, s.Packets, s.Max, s.Shards = rain.List, amounts, total, len(amounts), nil, 1
		}
	}
	listed := func(text string) map[string]string {
		return map[string]string{"split": "list", "amounts": text, "max": "", "shards": "1"}
	}
	share := func(millionths rain.Share) func(*rain.Spec) {
		return func(s *rain.Spec) { s.GuestsShare = millionths }
	}
	cases := []written{
		{"good", nil, func(*rain.Spec) {}},
		{"no name", map[string]string{"name": "  "}, set("name", "")},
		{"the most packets", map[string]string{"packets": "100,000,000", "budget": "20000000"},
			func(s *rain.Spec) { s.Packets, s.Budget = 100_000_000, 2_000_000_000 }},
		{"too many packets", map[string]string{"packets": "100000001", "budget": "20000000"},
			func(s *rain.Spec) { s.Packets, s.Budget = 100_000_001, 2_000_000_000 }},
		{"no budget", map[string]string{"budget": "0"}, set("budget", 0)},
		{"the least budget", map[string]string{"budget": "5000.00", "min": "1"},
			func(s *rain.Spec) { s.Budget, s.Min = 500_000, 100 }},
		{"a cent below", map[string]string{"budget": "4999.99", "min": "1"},
			func(s *rain.Spec) { s.Budget, s.Min = 499_999, 100 }},
		{"the most that fits", map[string]string{"budget": "17500"}, set("budget", 1_750_000)},
		{"a cent above", map[string]string{"budget": "17500.01"}, set("budget", 1_750_001)},
		{"the largest budget", map[string]string{"budget": "10000000000000", "max": ""},
			func(s *rain.Spec) { s.Budget, s.Max = rain.MaxBudget, nil }},
		{"a cent too much", map[string]string{"budget": "10000000000000.01", "max": ""},
			func(s *rain.Spec) { s.Budget, s.Max = rain.MaxBudget+1, nil }},
		{"a packet of nothing", map[string]string{"min": "0"}, set("min", 0)},
		{"most below least", map[string]string{"min": "0.5", "max": "0.49"},
			func(s *rain.Spec) { s.Min, *s.Max = 50, 49 }},
		{"most is least", map[string]string{"min": "2", "max": "2"}, func(s *rain.Spec) { s.Min, *s.Max = 200, 200 }},
		{"more shards than packets", map[string]string{"shards": "4", "packets": "3", "budget": "3"},
			func(s *rain.Spec) { s.Shards, s.Packets, s.Budget = 4, 3, 300 }},
		{"a guests' share", map[string]string{"guests_share": "12.5"}, share(125_000)},
		{"the least share", map[string]string{"guests_share": "0.02%"}, share(200)},
		{"less than a packet", map[string]string{"guests_share": "0.0199"}, share(199)},
		{"no share", map[string]string{"guests_share": "0"}, share(-1)},
		{"all are the guests'", map[string]string{"guests_share": "100"}, share(-1)},
		{"a share of no number", map[string]string{"guests_share": "a tenth"}, share(-1)},
		{"fewer than the guests' shards", map[string]string{"guests_share": "1", "shards": "102"},
			func(s *rain.Spec) { s.GuestsShare, s.Shards = 10_000, 102 }},
		{"as many as the guests' shards", map[string]string{"guests_share": "1", "shards": "101"},
			func(s *rain.Spec) { s.GuestsShare, s.Shards = 10_000, 101 }},
		{"fewer than the players' shards", map[string]string{"guests_share": "99", "shards": "101"},
			func(s *rain.Spec) { s.GuestsShare, s.Shards = 990_000, 101 }},
		{"the shortest", map[string]string{"expires_in_ms": "1", "unit": "seconds"}, set("expires_in_ms", 1_000)},
		{"too short", map[string]string{"expires_in_ms": "0.999", "unit": "seconds"}, set("expires_in_ms", 999)},
		{"a week", map[string]string{"expires_in_ms": "7", "unit": "days"}, set("expires_in_ms", week)},
		{"the longest", map[string]string{"expires_in_ms": "366", "unit": "days"},
			set("expires_in_ms", 366*24*3_600_000)},
		{"too long", map[string]string{"expires_in_ms": "366.001", "unit": "days"},
			set("expires_in_ms", 366*24*3_600_000+86_400)},
		{"a list", listed("1, 2\n3.50"), list(100, 200, 350)},
		{"no list", listed(""), func(s *rain.Spec) { list()(s); s.Budget, s.Packets = 1, 1 }},
		{"a list with less than the least", listed("1, 0"), list(100, 0)},
		{"a list with more than the most", map[string]string{"split": "list", "amounts": "1, 3.51", "shards": "1"},
			func(s *rain.Spec) { list(100, 351)(s); most := rain.Money(350); s.Max = &most }},
		{"several at once", map[string]string{"name": "", "wins_per_user": "0", "shards": "300"},
			func(s *rain.Spec) { s.Name, s.WinsPerUser, s.Shards = "", 0, 300 }},
	}
	for field, texts := range map[string][]string{
		"name":    {strings.Repeat("雨", 66) + "ab", strings.Repeat("雨", 67)},
		"sponsor": {"", "acme inc", strings.Repeat("a", 64), strings.Repeat("a", 65)},
	} {
		for _, text := range texts {
			cases = append(cases, written{field + " " + text, map[string]string{field: text}, set(field, text)})
		}
	}
	api, err := openapi3.NewLoader().LoadFromData(docs.OpenAPI)
	testenv.Must(t, err)
	for field, p := range api.Components.Schemas["NewCampaign"].Value.Properties {
		if !p.Value.Type.Is("integer") || p.Value.Format == "int64" { // money and times have other units in the form
			continue
		}
		least, most := int(*p.Value.Min), int(*p.Value.Max)
		numbers := []int{least - 1, least, most, most + 1}
		if field == "packets" {
			numbers = numbers[:1] // the budget limits the others
		}
		for _, n := range numbers {
			text := strconv.Itoa(n)
			cases = append(cases, written{field + " " + text, map[string]string{field: text}, set(field, n)})
		}
	}
	drafts := make([]map[string]string, len(cases))
	for i, c := range cases {
		drafts[i] = map[string]string{"name": "Gala", "sponsor": "acme", "budget": "10000", "packets": "5000",
			"max": "3.50", "split": "gaussian"}
		maps.Copy(drafts[i], c.draft)
	}
	posted := testenv.Got(json.Marshal(drafts)).Must(t)
	p := openPage(t, newFake(t), "/docs", 1280, 900)
	judged := eval[[]struct {
		Fields []string        `json:"fields"`
		Body   json.RawMessage `json:"body"`
	}](p, fmt.Sprintf(`import("/testdata/forms.js").then((m) => m.judge(%s))`, posted))
	for i, c := range cases {
		most := rain.Money(350)
		want := rain.DefaultSpec()
		want.Name, want.Sponsor, want.Budget, want.Packets, want.Split, want.Max = "Gala", "acme", 1_000_000, 5_000,
			rain.Gaussian, &most
		c.spec(&want)
		fields, completed := []string{}, want
		completed.Complete()
		if faults, ok := errors.AsType[rain.Invalid](completed.Validate()); ok {
			for _, f := range faults {
				fields = append(fields, f.Field)
			}
		}
		slices.Sort(fields)
		if got := judged[i].Fields; !slices.Equal(got, fields) {
			t.Errorf("%s: the form finds fault with %q, the server with %q", c.name, got, fields)
			continue
		}
		if len(fields) > 0 {
			testenv.Equal(t, string(judged[i].Body), "null", "%s: it would be posted as %s", c.name, judged[i].Body)
			continue
		}
		var got rain.Spec
		testenv.Must(t, json.Unmarshal(judged[i].Body, &got))
		testenv.Equal(t, got, want, "%s: it would be posted as", c.name)
	}
}
