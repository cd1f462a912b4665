// Two languages, one at a time. Texts live in a table {key: {zh, en}}; {name} in a text is replaced.

const STORED = "redrain.lang";

// I18n holds the language and the elements that show a text of the table.
export class I18n {
  #table;
  #listeners = [];

  constructor(table, lang = preferred()) {
    this.#table = table;
    this.lang = lang;
  }

  // t is the text for a key. A missing key shows itself, so that it is noticed.
  t(key, values = {}) {
    const text = this.#table[key]?.[this.lang] ?? key;
    return text.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
  }

  has(key) {
    return key in this.#table;
  }

  // apply writes the texts of all elements with data-t (text) or data-t-label (accessible name).
  apply(root = document) {
    document.documentElement.lang = this.lang === "zh" ? "zh-CN" : "en";
    for (const el of root.querySelectorAll("[data-t]")) el.textContent = this.t(el.dataset.t);
    for (const el of root.querySelectorAll("[data-t-label]")) el.setAttribute("aria-label", this.t(el.dataset.tLabel));
  }

  // change switches to the other language and remembers the choice.
  change() {
    this.lang = this.lang === "zh" ? "en" : "zh";
    remember(this.lang);
    this.apply();
    for (const fn of this.#listeners) fn();
  }

  onChange(fn) {
    this.#listeners.push(fn);
  }
}

// preferred is the language that was chosen here before, or else the browser's; Chinese wherever it is
// among the first choices, English for everybody else.
export function preferred(languages = navigator.languages ?? [navigator.language]) {
  const stored = recall();
  if (stored === "zh" || stored === "en") return stored;
  for (const l of languages) {
    if (/^zh\b/i.test(l)) return "zh";
    if (/^en\b/i.test(l)) return "en";
  }
  return "en";
}

// Storage may be forbidden (private windows, embedded views): then the choice lasts as long as the page.
function recall() {
  try {
    return localStorage.getItem(STORED);
  } catch {
    return null;
  }
}

function remember(lang) {
  try {
    localStorage.setItem(STORED, lang);
  } catch {
    // see above
  }
}
