// The few things that every part of the page does with the document.

/** byId is an element of index.html; one that is missing or of another kind is a fault of ours, said at once. */
export function byId(id: string): HTMLElement;
export function byId<T extends HTMLElement>(id: string, kind: new () => T): T;
export function byId(id: string, kind: new () => HTMLElement = HTMLElement): HTMLElement {
  const el = document.getElementById(id);
  if (!(el instanceof kind)) throw new Error(`index.html has no ${kind.name} #${id}`);
  return el;
}

/** write changes an element's text where it is another; it says whether it was. */
export function write(el: HTMLElement, text: string): boolean {
  if (el.textContent === text) return false;
  el.textContent = text;
  return true;
}

/** replay starts a class's animation anew. */
export function replay(el: HTMLElement, className: string): void {
  el.classList.remove(className);
  void el.offsetWidth;
  el.classList.add(className);
}

/** span is a piece of a list's row. */
export function span(className: string, text: string): HTMLSpanElement {
  const el = document.createElement("span");
  el.className = className;
  el.textContent = text;
  return el;
}
