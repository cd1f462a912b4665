package browser

import (
	"fmt"

	"github.com/chromedp/chromedp"
)

// presses is how often an element is aimed at before it counts as one that cannot be hit.
const presses = 5

// Press presses an element where a person would see it, with a finger or the mouse, as often as said at once: it waits until
// the element is there, can be seen and is not covered, and scrolls to it. One that is not clicked by that, because at the last moment
// something above it comes or goes, or because the browser is so busy that it takes the touch for a long one, is aimed at again, as a
// person would.
func (p *Page) Press(selector string, times int) error {
	for range presses {
		at, err := p.aim(selector)
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
		missed, _ := Eval[bool](p, `globalThis.aimed?.missed ?? false`) // a page that is being left has no answer: the press has worked
		if !missed {
			return nil
		}
	}
	return fmt.Errorf("%s was missed %d times", selector, presses)
}

// aim waits for an element that can be pressed and does not move any more, and watches whether the next presses click it, or what has taken
// its place.
func (p *Page) aim(selector string) (Point, error) {
	const script = `(async (selector, patience) => {
		const find = () => selector.startsWith("//")
			? document.evaluate(selector, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE, null).singleNodeValue
			: [...document.querySelectorAll(selector)].find((e) => e.checkVisibility({ visibilityProperty: true }));
		const frame = () => new Promise((next) => { requestAnimationFrame(next); setTimeout(next, 100); });
		const hits = (e, target) => e.contains(target) || target.contains(e) && target.tagName === "LABEL";
		const watch = (e) => {
			globalThis.aimed?.leave();
			const watching = new AbortController();
			const clicked = new Promise((done) => {
				const judge = (event) => { if ([e, find()].some((wanted) => wanted && hits(wanted, event.target))) done(false); };
				addEventListener("click", judge, { capture: true, signal: watching.signal });
			});
			// A tap becomes a click a little after the finger is told to have been lifted.
			const late = () => new Promise((done) => { setTimeout(done, 1000, true); });
			globalThis.aimed = { get missed() { return Promise.race([clicked, late()]); }, leave: () => watching.abort() };
		};
		const end = performance.now() + patience;
		let why = "is not there", before = null;
		while (performance.now() < end) {
			const e = find();
			if (!e || !e.checkVisibility({ visibilityProperty: true })) { why = e ? "is hidden" : "is not there"; await frame(); continue; }
			if (e.disabled || e.getAttribute("aria-disabled") === "true") { why = "is disabled"; await frame(); continue; }
			e.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
			const r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2;
			const top = document.elementFromPoint(x, y);
			if (!top || !hits(e, top)) {
				why = "is covered by " + (top ? top.tagName + "#" + top.id + "." + top.className : "nothing, being outside the page");
				before = null; await frame(); continue;
			}
			if (before && Math.hypot(before.x - x, before.y - y) < 1) { watch(e); return { x, y }; }
			why = "moves", before = { x, y };
			await frame();
		}
		return { why };
	})(%q, %d)`
	aimed, err := Eval[struct {
		Point

		Why string `json:"why"`
	}](p, fmt.Sprintf(script, selector, (Patience/2).Milliseconds()))
	if err == nil && aimed.Why != "" {
		err = fmt.Errorf("%s %s", selector, aimed.Why)
	}
	return aimed.Point, err
}
