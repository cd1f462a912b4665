package browser

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// Point is a place in the page, in CSS pixels from its upper left corner.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Point presses at a point, as the device does it: with a finger, or with the mouse.
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
		call(input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: input.DispatchTouchEventTypeTouchStart,
			TouchPoints: points}),
		call(input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: input.DispatchTouchEventTypeTouchEnd,
			TouchPoints: []*input.TouchPoint{}}))
}

// Type sends keys to the focused element; package kb of chromedp names the special keys.
func (p *Page) Type(keys string) error {
	return p.Do(Patience, chromedp.KeyEvent(keys))
}

// Fill puts a text into a field like a person: it focuses the field, deletes the content, and types.
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
