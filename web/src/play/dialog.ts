// The page's dialogs. Browsers from before 2022 have no <dialog>: there an element does the same.

import { byId } from "./dom.ts";

/** Dialog is the part of HTMLDialogElement that the page uses. It emits `close`, and `cancel`, which may be prevented. */
export interface Dialog extends HTMLElement {
  readonly open: boolean;
  showModal(): void;
  close(): void;
}

const FOCUSABLE = "button, input, a[href]";

/** dialog is a <dialog> of index.html. */
export function dialog(id: string): Dialog {
  const el = byId(id);
  if (!("showModal" in el)) stand(el);
  return el as Dialog;
}

const ours: Dialog[] = []; // dialogs that the phone's back button closes
let gone = false; // the page itself goes back, because a dialog was closed in another way

const isOurs = (): boolean => history.state?.dialog === true;
const push = (): void => {
  if (!isOurs()) history.pushState({ dialog: true }, "");
};

/** closable is a dialog that the phone's back button cancels, without leaving the game. */
export function closable(id: string): Dialog {
  const el = dialog(id);
  const show = el.showModal.bind(el);
  el.showModal = () => (show(), push());
  el.addEventListener("close", () => {
    if (!isOurs() || ours.some((d) => d.open)) return;
    gone = true;
    history.back();
  });
  ours.push(el);
  return el;
}

if (isOurs()) history.replaceState(null, ""); // the page was reloaded while a dialog was open
window.addEventListener("popstate", () => {
  if (isOurs()) return;
  const open = ours.filter((d) => d.open);
  if (gone && open[0]) push(); // a dialog was opened meanwhile
  else for (const d of open) if (d.dispatchEvent(new Event("cancel", { cancelable: true }))) d.close();
  gone = false;
});

// stand makes an element a dialog: it covers the page, keeps the focus and closes with Esc.
function stand(el: HTMLElement): void {
  let before: Element | null = null;
  const focusable = (): HTMLElement[] => [...el.querySelectorAll<HTMLElement>(FOCUSABLE)].filter((e) => e.offsetParent);
  const keep = (e: FocusEvent): void => {
    if (e.target instanceof Node && !el.contains(e.target)) focusable()[0]?.focus();
  };
  const keys = (e: KeyboardEvent): void => {
    if (e.key === "Escape" && el.dispatchEvent(new Event("cancel", { cancelable: true }))) close();
    if (e.key !== "Tab") return;
    const all = focusable();
    const [from, to] = e.shiftKey ? [all[0], all[all.length - 1]] : [all[all.length - 1], all[0]];
    if (document.activeElement !== from) return;
    e.preventDefault();
    to?.focus();
  };
  const close = (): void => {
    if (!el.hasAttribute("open")) return;
    el.removeAttribute("open");
    document.removeEventListener("focusin", keep);
    document.removeEventListener("keydown", keys);
    if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    setTimeout(() => el.dispatchEvent(new Event("close"))); // a task of its own, as a browser's dialog does it
  };
  const showModal = (): void => {
    before = document.activeElement;
    el.setAttribute("open", "");
    document.addEventListener("focusin", keep);
    document.addEventListener("keydown", keys);
    focusable()[0]?.focus({ preventScroll: true });
  };
  el.classList.add("stands");
  el.setAttribute("role", "dialog");
  el.setAttribute("aria-modal", "true");
  Object.defineProperty(el, "open", { get: () => el.hasAttribute("open") });
  Object.assign(el, { showModal, close });
}
