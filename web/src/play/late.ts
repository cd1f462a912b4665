// Loads the parts in src/late after the page.

/** Late is the module of these parts. */
export type Late = typeof import("../late/main.ts");

const LEISURE = 1_500; // ms after the page has loaded

let coming: Promise<Late | null> | null = null;

/** late loads the script, once; null if that fails: the next call tries again. */
export function late(): Promise<Late | null> {
  coming ??= (import(document.querySelector<HTMLMetaElement>("meta[name=late]")?.content ?? "") as Promise<Late>).catch(() => (coming = null));
  return coming;
}

/** atLeisure loads the script a while after the page. */
export function atLeisure(then: (there: Late) => void): void {
  setTimeout(() => void late().then((there) => there && then(there)), LEISURE);
}
