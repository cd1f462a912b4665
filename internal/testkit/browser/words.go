package browser

// Words are the texts that a person can see or hear of in the page: of elements, labels, hints in fields,
// descriptions of pictures. What is marked as no language's is left out: code, and what has translate="no" or a
// lang of its own (the switch of languages names each in itself).
func (p *Page) Words() ([]string, error) {
	return Eval[[]string](p, `(() => {
		const found = new Set();
		const add = (text) => { const t = (text ?? "").replace(/\s+/g, " ").trim(); if (t) found.add(t); };
		const foreign = (e) =>
			e.closest("code, pre, kbd, samp, [translate=no]") || e.closest("[lang]") !== document.documentElement;
		const spoken = ["aria-label", "title", "placeholder", "alt", "aria-description", "aria-valuetext",
			"aria-roledescription"];
		add(document.title);
		for (const e of document.body.querySelectorAll("*")) {
			if (foreign(e) || e.matches("script, style, noscript, noscript *")) continue;
			if (!e.checkVisibility({ visibilityProperty: true })) continue;
			for (const name of spoken) add(e.getAttribute(name));
			const texts = [...e.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE).map((n) => n.data);
			// A place where a line may break is no end of a text.
			for (const t of e.querySelector(":scope > wbr") ? [texts.join("")] : texts) add(t);
		}
		return [...found];
	})()`)
}
