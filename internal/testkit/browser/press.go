package browser

import (
	"fmt"
	"time"

	"github.com/chromedp/chromedp"
)

// Press presses an element with a finger or the mouse, times in a row. It waits until the element exists, is visible
// and is not covered, and scrolls to it. It returns after the page's click events.
//
// Nothing else is pressed. If the layout changes at the last moment, a press beside the element is hidden from the
// page, and repeated within Patience. A press that has hit is never repeated.
func (p *Page) Press(selector string, times int) error {
	for end := time.Now().Add(Patience); ; {
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
		// a page that is being left has no answer: the press has worked
		missed, _ := Eval[bool](p, `globalThis.aimed?.missed() ?? false`)
		if !missed {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s cannot be hit: it moves whenever it is aimed at", selector)
		}
	}
}

// aim waits for an element that can be pressed and does not move any more, and watches the next presses. A press must
// hit the element, or its replacement, from its beginning to its end, or there would be no click.
func (p *Page) aim(selector string) (Point, error) {
	const script = `(async (selector, patience) => {
		const find = () => selector.startsWith("//")
			? document.evaluate(selector, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE, null).singleNodeValue
			: [...document.querySelectorAll(selector)].find((e) => e.checkVisibility({ visibilityProperty: true }));
		const frame = () => new Promise((next) => { requestAnimationFrame(next); setTimeout(next, 100); });
		const belongs = (e, target) => e.contains(target) || target.contains(e) && target.tagName === "LABEL";
		// watch lets through what hits the element, from the press to the click, and nothing else.
		const watch = (e) => {
			let down = false, hits = 0, clicks = 0, heard;
			const on = (target) => target && [e, find()].some((wanted) => wanted && belongs(wanted, target));
			const under = (event) => on(document.elementFromPoint(event.clientX, event.clientY));
			globalThis.aimed?.leave();
			const watching = new AbortController();
			const click = new Promise((done) => { heard = done; });
			const keep = (event) => { event.preventDefault(); event.stopImmediatePropagation(); };
			const seen = {
				pointerdown: (event) => { down = under(event); },
				pointerup: (event) => { if (down && under(event)) hits++; },
				click: (event) => { if (on(event.target) && ++clicks >= hits) heard(); },
			};
			const pressing = ["pointerdown", "mousedown", "touchstart", "pointerup", "mouseup", "touchend", "click"];
			for (const type of pressing) {
				addEventListener(type, (event) => {
					seen[type]?.(event);
					// A finger's click comes later, perhaps after the next press; one that missed makes none.
					if (!down && (type !== "click" || event.pointerType === "mouse" || hits === 0)) keep(event);
				}, { capture: true, passive: false, signal: watching.signal });
			}
			// A tap becomes a click a little after the finger is lifted. Where that takes long it is not pressed again:
			// it would be twice.
			const late = () => new Promise((done) => { setTimeout(done, 1000); });
			globalThis.aimed = {
				missed: async () => {
					if (hits > 0 && clicks < hits) await Promise.race([click, late()]);
					watching.abort();
					return hits === 0;
				},
				leave: () => watching.abort(),
			};
		};
		const end = performance.now() + patience;
		let why = "is not there", before = null;
		while (performance.now() < end) {
			const e = find();
			why = !e ? "is not there" : !e.checkVisibility({ visibilityProperty: true }) ? "is hidden" :
				e.disabled || e.getAttribute("aria-disabled") === "true" ? "is disabled" : "";
			if (why) { await frame(); continue; }
			e.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
			const r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2;
			const top = document.elementFromPoint(x, y);
			if (!top || !belongs(e, top)) {
				why = "is covered by " +
					(top ? top.tagName + "#" + top.id + "." + top.className : "nothing, being outside the page");
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
