// The challenge before the server creates a guest: a proof of work, or the widget of a CAPTCHA service.

import type { Challenge } from "../shared/schemas.ts";
import { load } from "../shared/script.ts";
import { work } from "../shared/work.ts";
import { dialog } from "./dialog.ts";
import { byId } from "./dom.ts";

const QUIETLY = 400; // ms of work without a message to the player

/** Widget is the common interface of the scripts of Turnstile and hCaptcha. */
interface Widget {
  render(place: HTMLElement, options: Record<string, unknown>): unknown;
}

/** meet solves a challenge and returns the proof. It opens a dialog if that takes a while. */
export async function meet(challenge: Challenge): Promise<string> {
  const box = dialog("challenge");
  const place = byId("challenge-widget");
  const show = (): void => {
    if (!box.open) box.showModal();
  };
  const later = setTimeout(show, challenge.work ? QUIETLY : 0);
  const stay = (e: Event): void => e.preventDefault(); // the dialog stays open until there is a proof
  box.addEventListener("cancel", stay);
  try {
    return challenge.work ? await work(challenge.work) : await ask(challenge, place);
  } finally {
    clearTimeout(later);
    box.removeEventListener("cancel", stay);
    box.close();
    place.replaceChildren();
  }
}

/** ask shows the widget of a service until it has an answer. */
async function ask({ kind, script, site_key: sitekey }: Challenge, place: HTMLElement): Promise<string> {
  await load(script ?? "");
  const widget = (globalThis as unknown as Record<string, Widget | undefined>)[kind];
  if (!widget) throw new Error(`${kind}: its script has brought no widget`);
  return new Promise((proof, failed) => {
    widget.render(place, {
      sitekey,
      callback: proof,
      "error-callback": (code: unknown) => failed(new Error(`${kind}: ${String(code)}`)),
    });
  });
}
