// Two languages, one at a time. Texts live in a table {key: {zh, en}}; {name} in a text is replaced.

export type Lang = "zh" | "en";
export type Table = Record<string, Record<Lang, string>>;
export type Values = Record<string, string | number>;

const STORED = "redrain.lang";

/** I18n holds the language and the elements that show a text of the table. */
export class I18n<T extends Table> {
  lang: Lang;
  readonly #table: T;
  readonly #listeners: (() => void)[] = [];

  constructor(table: T, lang: Lang = preferred()) {
    this.#table = table;
    this.lang = lang;
  }

  /** t is the text for a key. */
  t(key: keyof T & string, values: Values = {}): string {
    const text = this.#table[key]?.[this.lang] ?? key;
    return text.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ""));
  }

  /** has reports whether there is such a text, for keys that come from the server (outcomes, states). */
  has(key: string): key is keyof T & string {
    return Object.prototype.hasOwnProperty.call(this.#table, key);
  }

  /** apply writes the texts of all elements with data-t (text) or data-t-label (accessible name). */
  apply(root: ParentNode = document): void {
    document.documentElement.lang = this.lang === "zh" ? "zh-CN" : "en";
    for (const el of root.querySelectorAll<HTMLElement>("[data-t]")) el.textContent = this.t(el.dataset.t ?? "");
    for (const el of root.querySelectorAll<HTMLElement>("[data-t-label]")) el.setAttribute("aria-label", this.t(el.dataset.tLabel ?? ""));
  }

  /** change switches to the other language and remembers the choice. */
  change(): void {
    this.lang = this.lang === "zh" ? "en" : "zh";
    remember(this.lang);
    this.apply();
    for (const fn of this.#listeners) fn();
  }

  onChange(fn: () => void): void {
    this.#listeners.push(fn);
  }
}

/**
 * preferred is the stored language, or else the browser's: Chinese if it is among the first choices, otherwise English.
 */
export function preferred(languages: readonly string[] = navigator.languages ?? [navigator.language]): Lang {
  const stored = recall();
  if (stored === "zh" || stored === "en") return stored;
  for (const l of languages) {
    if (/^zh\b/i.test(l)) return "zh";
    if (/^en\b/i.test(l)) return "en";
  }
  return "en";
}

// Storage may be forbidden (private windows, embedded views): then the choice lasts as long as the page.
function recall(): string | null {
  try {
    return localStorage.getItem(STORED);
  } catch {
    return null;
  }
}

function remember(lang: Lang): void {
  try {
    localStorage.setItem(STORED, lang);
  } catch {
    // see above
  }
}
