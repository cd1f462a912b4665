package docs_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"redrain/rain"
)

// TestOpenAPIHasTheLimitsOfRequests: each whole number of a request has the bounds that its validation has.
func TestOpenAPIHasTheLimitsOfRequests(t *testing.T) {
	unbounded := []string{"starts_at", "max"} // a time, and a number that may not be below min
	validate := map[string]func(body []byte) error{
		"NewCampaign": func(body []byte) error {
			s := rain.DefaultSpec()
			return errors.Join(json.Unmarshal(body, &s), s.Validate())
		},
		"NewSplit": func(body []byte) error {
			s := rain.DefaultSplit()
			return errors.Join(json.Unmarshal(body, &s), s.Validate())
		},
		"NewRain": func(body []byte) error {
			s := rain.DefaultRain()
			return errors.Join(json.Unmarshal(body, &s), s.Validate(0))
		},
	}
	schemas := loadOpenAPI(t).Components.Schemas
	for schema, validate := range validate {
		for field, p := range schemas[schema].Value.Properties {
			if !p.Value.Type.Is("integer") || slices.Contains(unbounded, field) {
				continue
			}
			if p.Value.Min == nil || p.Value.Max == nil {
				t.Errorf("%s.%s has no bounds", schema, field)
				continue
			}
			least, most := int64(*p.Value.Min), int64(*p.Value.Max)
			for n, isValid := range map[int64]bool{least: true, most: true, least - 1: false, most + 1: false} {
				body, err := json.Marshal(map[string]int64{field: n})
				if err != nil {
					t.Fatal(err)
				}
				var faults rain.Invalid
				errors.As(validate(body), &faults)
				has := slices.ContainsFunc(faults, func(f rain.FieldError) bool { return f.Field == field })
				if has == isValid {
					t.Errorf("%s.%s is %d to %d, but of %d validation says %v", schema, field, least, most, n, faults)
				}
			}
		}
	}
}
