// Helpers for the document that every part of the page uses.

import { phrases } from "../shared/phrases.ts";

/** byId is an element of index.html. It throws if the element is missing or of another kind. */
export function byId(id: string): HTMLElement;
export function byId<T extends HTMLElement>(id: string, kind: new () => T): T;
export function byId(id: string, kind: new () => HTMLElement = HTMLElement): HTMLElement {
  const el = document.getElementById(id);
  if (!(el instanceof kind)) throw new Error(`index.html has no ${kind.name} #${id}`);
  return el;
}

/** write sets an element's text. It returns whether the text has changed. */
export function write(el: HTMLElement, text: string): boolean {
  if (el.textContent === text) return false;
  el.textContent = text;
  return true;
}

/** picture shows a picture, or hides the element if there is none. */
export function picture(el: HTMLImageElement, address: string | undefined): void {
  el.hidden = !address;
  if (address && el.getAttribute("src") !== address) el.src = address;
}

/** entitle sets a title that breaks only between its words. */
export function entitle(el: HTMLElement, title: string): void {
  el.classList.add("phrases");
  if (el.textContent !== title) el.replaceChildren(...phrases(title).flatMap((p, i) => (i ? [document.createElement("wbr"), p] : [p])));
}

/** middle returns the center of an element, in CSS px of the page. */
export function middle(el: Element): { x: number; y: number } {
  const { left, top, width, height } = el.getBoundingClientRect();
  return { x: left + width / 2, y: top + height / 2 };
}

/** replay restarts a class's animation. */
export function replay(el: HTMLElement, className: string): void {
  el.classList.remove(className);
  void el.offsetWidth;
  el.classList.add(className);
}

/** span makes a span with a class and a text, for a row of a list. */
export function span(className: string, text: string): HTMLSpanElement {
  const el = document.createElement("span");
  el.className = className;
  el.textContent = text;
  return el;
}
