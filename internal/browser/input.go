package browser

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// Point is a place in the page, in CSS pixels from its upper left corner.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Point presses at a place, as the device does it: with a finger, or with the mouse.
func (p *Page) Point(at Point) error {
	if p.device.Touch {
		return p.Touch(at)
	}
	return p.Do(Patience, chromedp.MouseClickXY(at.X, at.Y))
}

// Touch puts a finger on each of the places, all at once, and lifts them.
func (p *Page) Touch(at ...Point) error {
	points := make([]*input.TouchPoint, len(at))
	for i, a := range at {
		id := float64(i)
		points[i] = &input.TouchPoint{X: a.X, Y: a.Y, ID: &id}
	}
	return p.Do(Patience,
		call(input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: input.DispatchTouchEventTypeTouchStart, TouchPoints: points}),
		call(input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: input.DispatchTouchEventTypeTouchEnd, TouchPoints: []*input.TouchPoint{}}))
}

// Press presses an element where a person would see it, with a finger or the mouse, as often as said at once: it waits until
// the element is there, can be seen and is not covered, and scrolls to it.
func (p *Page) Press(selector string, times int) error {
	at, err := p.middle(selector)
	if err != nil {
		return err
	}
	for range times {
		if p.device.Touch {
			err = p.Touch(at)
		} else {
			err = p.Do(Patience, chromedp.MouseClickXY(at.X, at.Y))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// middle waits for an element that can be pressed and does not move any more.
func (p *Page) middle(selector string) (Point, error) {
	const script = `(async (selector, patience) => {
		const find = () => selector.startsWith("//")
			? document.evaluate(selector, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE, null).singleNodeValue
			: [...document.querySelectorAll(selector)].find((e) => e.checkVisibility({ visibilityProperty: true }));
		const frame = () => new Promise((next) => { requestAnimationFrame(next); setTimeout(next, 100); });
		const end = performance.now() + patience;
		let why = "is not there", before = null;
		while (performance.now() < end) {
			const e = find();
			if (!e || !e.checkVisibility({ visibilityProperty: true })) { why = e ? "is hidden" : "is not there"; await frame(); continue; }
			if (e.disabled || e.getAttribute("aria-disabled") === "true") { why = "is disabled"; await frame(); continue; }
			e.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
			const r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2;
			const top = document.elementFromPoint(x, y);
			if (!top || !(e.contains(top) || top.contains(e) && top.tagName === "LABEL")) {
				why = "is covered by " + (top ? top.tagName + "#" + top.id + "." + top.className : "nothing, being outside the page");
				before = null; await frame(); continue;
			}
			if (before && Math.hypot(before.x - x, before.y - y) < 1) return { x, y };
			why = "moves", before = { x, y };
			await frame();
		}
		throw new Error(selector + " " + why);
	})(%q, %d)`
	return Eval[Point](p, fmt.Sprintf(script, selector, (Patience/2).Milliseconds()))
}

// Type sends keys to what has the focus; package kb of chromedp names those that are no letters.
func (p *Page) Type(keys string) error {
	return p.Do(Patience, chromedp.KeyEvent(keys))
}

// Fill puts a text into a field, as a person does: it goes there, takes what is there away, and types.
func (p *Page) Fill(selector, text string) error {
	if err := p.Press(selector, 1); err != nil {
		return err
	}
	const all = `(() => { const e = document.activeElement; if (e.select) e.select(); return e.tagName; })()`
	if _, err := Eval[string](p, all); err != nil {
		return err
	}
	return p.Do(Patience, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, input.InsertText, input.InsertTextParams{Text: text})
		return err
	}))
}
