package web_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"redrain/internal/testenv"
	"redrain/internal/testenv/testrun"
	chromium "redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
)

// patience is for a browser on a machine that has other work.
const patience = chromium.Patience

// TestInBrowser runs the tests of the pages, each in a tab with cookies and storage of its own. They share one browser,
// whose start takes longer than most of them, and mostly wait, so they run side by side.
func TestInBrowser(t *testing.T) {
	b := &browser{}
	t.Run("modules", b.testModules)
	t.Run("a guest wins and is paid", b.testAGuestWinsAndIsPaid)
	t.Run("screen: an evening", b.testScreenEvening)
}

// TestStatesInBrowser is TestInBrowser for the other states of the player's page and of the screen.
func TestStatesInBrowser(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	b := &browser{}
	t.Run("unavailable may be tapped again", b.testUnavailableMayBeTappedAgain)
	t.Run("close codes", b.testCloseCodes)
	t.Run("no guests: a token is asked for", b.testWithoutGuests)
	t.Run("a guest works", b.testAGuestWorks)
	t.Run("a guest is a person", b.testAGuestIsAPerson)
	t.Run("a screen works", b.testAScreenWorks)
	t.Run("a sign-in that is over", b.testExpired)
	t.Run("taps without an answer", b.testUnsure)
	t.Run("a code: nobody becomes somebody else", b.testNobodyBecomesSomebodyElse)
	t.Run("a code that is over", b.testACodeThatIsOver)
	t.Run("back", b.testBack)
	t.Run("withdrawals", b.testWithdraw)
	t.Run("withdrawals: not known", b.testWithdrawUnsure)
	t.Run("the card's sums", b.testSums)
	t.Run("check my luck", b.testLuck)
	t.Run("keyboard only", b.testKeyboard)
	t.Run("what the server tells", b.testStates)
	t.Run("a full room", b.testWaitingRoom)
	t.Run("a countdown", b.testSpread)
	t.Run("the landing follows", b.testLandingFollows)
	t.Run("old wins", b.testOldWins)
	t.Run("screen: a refused token", b.testScreenRefused)
}

// TestSlowStatesInBrowser is TestStatesInBrowser for states that take most of ten seconds each.
func TestSlowStatesInBrowser(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	b := &browser{}
	t.Run("nothing to play", b.testNothingToPlay)
	t.Run("a code in the address", b.testACodeInTheAddress)
	t.Run("the campaign is gone", b.testFollowsOut)
	t.Run("screen: the code is read", b.testScreenCode)
	t.Run("screen: the server is away", b.testScreenWithoutServer)
	t.Run("screen: another campaign", b.testScreenFollows)
	t.Run("screen: states", b.testScreenStates)
}

// browser has the tests of TestInBrowser, and opens their pages.
type browser struct{}

// tab is a page of a fake server.
type tab struct {
	*browsertest.Page
	t    *testing.T
	fake *fakeServer
}

// open opens a page of a fake server. At the end of the test the page must have had no fault; but requests that
// were refused or broke are the tests' own doing.
func (*browser) open(t *testing.T, f *fakeServer, path string, width, height int64) *tab {
	t.Helper()
	device := chromium.Device{Width: width, Height: height, Scale: 1}
	o := chromium.Options{Home: f.URL, Device: device, Scripts: []string{rememberModes}}
	p := openTab(t, f, o, chromium.Network)
	t.Cleanup(func() { p.shoot("end") })
	p.Go(path)
	return p
}

// openTab opens a browser for pages of a fake server, which is the home of the options.
func openTab(t *testing.T, f *fakeServer, o chromium.Options, forgiven ...chromium.Kind) *tab {
	t.Helper()
	o.Home = f.URL
	return &tab{Page: browsertest.Open(t, o, forgiven...), t: t, fake: f}
}

// browserFrom waits until a test of a tier may use a browser.
func browserFrom(t *testing.T, tier testrun.Tier) {
	t.Helper()
	testenv.RunsFrom(t, tier)
	testenv.ParallelBrowser(t, testenv.Heavy)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	must(p.t, p.Do(patience, steps...))
}

func (p *tab) click(selector string) {
	p.t.Helper()
	p.Press(selector)
}

// eval is what an expression, or the promise that it is, comes to in the page.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	return browsertest.Eval[T](p.Page, expression)
}

func (p *tab) text(id string) string {
	p.t.Helper()
	// A page that is being loaded again has no elements for a moment.
	return eval[string](p, `document.getElementById("`+id+`")?.textContent ?? ""`)
}

// shows waits until an element has a text.
func (p *tab) shows(id, text string) {
	p.t.Helper()
	testenv.Eventually(p.t, patience, "#"+id+" shows "+text, func() bool { return p.text(id) == text })
}

func (p *tab) hidden(id string) bool {
	p.t.Helper()
	return eval[bool](p, `document.getElementById("`+id+`").hidden`)
}

func (p *tab) mode(want string) {
	p.t.Helper()
	testenv.Eventually(p.t, patience, "the page is "+want,
		func() bool { return eval[string](p, `document.body?.dataset.mode ?? ""`) == want })
}

// rememberModes keeps every mode that a page has been in.
const rememberModes = `window.modes = new Set();
new MutationObserver(() => modes.add(document.body?.dataset.mode))
	.observe(document, { attributes: true, attributeFilter: ["data-mode"], childList: true, subtree: true });`

// passed waits until the page has been in a mode that does not last: a busy machine may look too late to see it.
func (p *tab) passed(mode string) {
	p.t.Helper()
	testenv.Eventually(p.t, patience, "the page has been "+mode,
		func() bool { return eval[bool](p, `modes.has("`+mode+`")`) })
}

// shoot keeps a screenshot where REDRAIN_ARTIFACTS names a folder.
func (p *tab) shoot(name string) {
	p.t.Helper()
	p.Shoot(name)
}
