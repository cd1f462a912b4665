package browsertest_test

import (
	"slices"
	"testing"

	"redrain/internal/testenv"
	"redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
)

func TestWordsAreWhatIsSeen(t *testing.T) {
	t.Parallel()
	home := serve(t, `<p>one <b>two</b></p><p hidden>no</p><p style="visibility:hidden">no</p>
		<button aria-label="three">×</button><input placeholder="four"><p lang="zh">五</p><code>no()</code>
		<img alt="six" src="data:,"><p translate="no">no</p>`)
	p := browsertest.Open(t, browser.Options{Home: home}, browser.Log, browser.Network)
	p.Go("/")
	got := testenv.Got(p.Words()).Must(t)
	if want := []string{"A page", "one", "two", "three", "×", "four", "six"}; !slices.Equal(got, want) {
		t.Errorf("words %q, want %q", got, want)
	}
	p.Speaks("en", "as it is")
}
