package web_test

import (
	"sync"
	"testing"

	"redrain/web/bundle"
)

// sdkTests is the tests of the client SDK, with its modules in them.
var sdkTests = sync.OnceValues(func() ([]byte, error) { return bundle.Script(".", "testdata/sdk/main.ts") })

// TestSDKInBrowser tests the client where it is at home.
func TestSDKInBrowser(t *testing.T) {
	b := &browser{}
	t.Run("modules", b.testSDKModules)
}

// testSDKModules runs web/testdata/sdk: every rule of the client, in a world whose time passes at the test's word.
func (b *browser) testSDKModules(t *testing.T) {
	p := b.open(t, newFake(t), "/docs", 390, 844)
	report := eval[struct {
		Ran    int      `json:"ran"`
		Faults []string `json:"faults"`
	}](p, `import("/testdata/sdk.js").then((m) => m.run())`)
	for _, fault := range report.Faults {
		t.Error(fault)
	}
	t.Logf("%d tests", report.Ran)
}
