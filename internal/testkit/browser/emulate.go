package browser

import (
	"context"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// call is a command of the debugger's as a step.
func call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, command, params)
		return err
	})
}

// prepare applies the options to all later documents.
func (p *Page) prepare(o Options, agent string) []chromedp.Action[chromedp.Void] {
	features := []*emulation.MediaFeature{
		{Name: "prefers-reduced-motion", Value: either(o.Calm, "reduce", "no-preference")},
		{Name: "prefers-color-scheme", Value: either(o.Dark, "dark", "light")},
	}
	first, _, _ := strings.Cut(o.Language, ",")
	steps := []chromedp.Action[chromedp.Void]{
		call(network.Enable, network.EnableParams{}),
		call(runtime.Enable, cdp.Empty{}),
		call(log.Enable, cdp.Empty{}),
		emulateDevice(o.Device),
		call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}),
		call(emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: agent,
			AcceptLanguage: o.Language}),
		call(emulation.SetLocaleOverride, emulation.SetLocaleOverrideParams{Locale: first}),
		// Keys and focus work as in the window in front, in every page at once.
		call(emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}),
	}
	for _, script := range o.Scripts {
		steps = append(steps, call(page.AddScriptToEvaluateOnNewDocument,
			page.AddScriptToEvaluateOnNewDocumentParams{Source: script}))
	}
	return steps
}

func emulateDevice(d Device) chromedp.Action[chromedp.Void] {
	options := []chromedp.EmulateViewportOption{chromedp.EmulateScale(d.Scale)}
	if d.Touch {
		options = append(options, chromedp.EmulateMobile,
			func(_ *emulation.SetDeviceMetricsOverrideParams, touch *emulation.SetTouchEmulationEnabledParams) {
				touch.Enabled, touch.MaxTouchPoints = true, 5
			})
		if d.Height > d.Width {
			options = append(options, chromedp.EmulatePortrait)
		} else {
			options = append(options, chromedp.EmulateLandscape)
		}
	}
	return chromedp.EmulateViewport(d.Width, d.Height, options...)
}

// Resize puts the page on another device.
func (p *Page) Resize(d Device) error {
	p.device = d
	return p.Do(Patience, emulateDevice(d))
}

// byRule is network.EmulateNetworkConditionsByRule for browsers of two ages. Chrome 148 expects the field offline
// beside the conditions, later versions within each of them. Each version ignores the other field.
var byRule = cdp.Command[byRuleParams, network.EmulateNetworkConditionsByRuleResult]{
	Method: network.CommandEmulateNetworkConditionsByRule,
}

type byRuleParams struct {
	Offline    bool                  `json:"offline"`
	Conditions []*network.Conditions `json:"matchedNetworkConditions"` //nolint:tagliatelle // Chrome's name
}

// Offline takes the network away from the page, or gives it back. Open sockets stay open, as they do on a phone for a
// while; the page gets the event of that name.
func (p *Page) Offline(offline bool) error {
	conditions := &network.Conditions{Offline: offline, DownloadThroughput: -1, UploadThroughput: -1}
	return p.Do(Patience,
		call(byRule, byRuleParams{Offline: offline, Conditions: []*network.Conditions{conditions}}),
		call(network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: offline, DownloadThroughput: -1,
			UploadThroughput: -1}))
}

func either[T any](condition bool, yes, no T) T {
	if condition {
		return yes
	}
	return no
}

// Throttle makes the page's processor so many times slower; 1 is as it is.
func (p *Page) Throttle(times float64) error {
	return p.Do(Patience, call(emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: times}))
}
