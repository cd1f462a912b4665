// Package browser drives Chromium for tests and for pictures. Each page has separate cookies and storage, and emulates
// a device. It gets real pointer events, and records its faults.
//
//	b, err := browser.Start(chromium, profile)
//	page, err := b.Open(browser.Options{Home: "http://127.0.0.1:8080"})
//	err = page.Go("/")
//
// It speaks the debugger's protocol through chromedp, and is the only package of redrain that does. It does not import
// package testing: [redrain/internal/testkit/browser/browsertest] is the same for tests, in which a fault fails the
// test.
//
// The rules of accessibility are checked by axe-core (folder axe; MPL-2.0, unchanged, in no binary but those of tests).
package browser
