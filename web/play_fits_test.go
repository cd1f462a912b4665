package web_test

import "redrain/internal/testkit/browser/browsertest"

// misfits are what does not fit on the player's page as it is: words or buttons that reach out of the phone, lie on
// each other, or cannot be touched; Chinese words that are broken into two lines. What scrolls is brought into
// sight first.
const misfits = `(() => {
	const found = [], [w, h] = [innerWidth, innerHeight];
	const open = [...document.querySelectorAll("dialog[open]")].pop();
	const within = open ?? document.body;
	const { scrollHeight, scrollWidth } = document.scrollingElement;
	if (scrollHeight > h || scrollWidth > w) found.push("the page scrolls");
	const name = (e) => e.tagName.toLowerCase() + (e.id && "#" + e.id) + " " +
		JSON.stringify(e.textContent.trim().slice(0, 30));
	const seen = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
		!e.closest(".unseen, .sky, #debug, #old, #keys") && (open || !e.closest("dialog"));
	const out = (r) => r.left < -1 || r.top < -1 || r.right > w + 1 || r.bottom > h + 1;
	const show = (r) => [r.left, r.top, r.right, r.bottom].map(Math.round).join(" ");
	const scrolls = (e) => e.closest(".scroll");
	const broken = (n) => [...new Intl.Segmenter("zh", { granularity: "word" }).segment(n.data)]
		.filter(({ segment }) => /^[\u3400-\u9fff]{2,}$/.test(segment)).filter(({ segment, index }) => {
			const word = document.createRange();
			word.setStart(n, index), word.setEnd(n, index + segment.length);
			const tops = [...word.getClientRects()].map((r) => r.top);
			return Math.max(...tops) - Math.min(...tops) > 4;
		}).map(({ segment }) => segment);
	const words = [];
	for (const e of within.querySelectorAll("*")) {
		if (!seen(e)) continue;
		const text = [...e.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE && n.data.trim());
		for (const word of text.flatMap(broken)) found.push(name(e) + " breaks " + word + " into two lines");
		if (!text.length) continue;
		const range = document.createRange();
		range.setStartBefore(text[0]), range.setEndAfter(text[text.length - 1]);
		const own = e.getBoundingClientRect(), r = range.getBoundingClientRect();
		if (r.right > own.right + 1 && getComputedStyle(e).overflow === "visible")
			found.push(name(e) + " is wider than its place, by " + Math.round(r.right - own.right));
		if (scrolls(e)) continue;
		// Of what is cut off on purpose only what is left counts.
		const box = getComputedStyle(e).overflow === "visible" ? r
			: new DOMRect(Math.max(r.left, own.left), Math.max(r.top, own.top), Math.min(r.width, own.width),
				Math.min(r.height, own.height));
		if (out(box)) found.push(name(e) + " reaches out: " + show(box));
		words.push([e, box === r ? [...range.getClientRects()] : [box]]); // line by line
	}
	const lies = (r, s) => Math.min(r.right, s.right) - Math.max(r.left, s.left) > 2 &&
		Math.min(r.bottom, s.bottom) - Math.max(r.top, s.top) > 4;
	words.forEach(([a, lines], i) => words.slice(i + 1).forEach(([b, others]) => {
		if (lines.some((r) => others.some((s) => lies(r, s))) && !a.contains(b) && !b.contains(a))
			found.push(name(a) + " lies on " + name(b));
	}));
	for (const e of within.querySelectorAll("button, a[href], input")) {
		if (!seen(e) || e.disabled) continue;
		if (scrolls(e)) e.scrollIntoView({ block: "center" });
		const r = e.getBoundingClientRect();
		const top = document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2);
		if (out(r)) found.push(name(e) + " reaches out: " + show(r));
		if (!e.contains(top)) found.push(name(e) + " lies under " + (top ? name(top) : "nothing"));
		if (r.height < 40 || r.width < 40)
			found.push(name(e) + " is small: " + Math.round(r.width) + "×" + Math.round(r.height));
	}
	return found;
})()`

// fits fails the test for each thing that does not fit.
func (v *visit) fits(state string) {
	v.t.Helper()
	for _, fault := range browsertest.Eval[[]string](v.Page, misfits) {
		v.t.Errorf("%s: %s", state, fault)
	}
}
