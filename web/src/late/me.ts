// A guest's name and face: drawn at first, and chosen in a dialog.

import type { Dialog } from "../play/dialog.ts";
import { byId, picture, write } from "../play/dom.ts";
import type { strings } from "../play/strings.ts";
import { pictureOf } from "../shared/faces.ts";
import type { Wish } from "../shared/guest.ts";
import { I18n, type Values } from "../shared/i18n.ts";
import type { Face } from "../shared/schemas.ts";
import type { Session } from "../shared/session.ts";
import { naming } from "./strings.ts";

const FACES: readonly Face[] = ["koi", "lantern", "blossom", "tangerine", "ingot", "lion", "cat", "rabbit"];
const MOST = 999; // the highest number in a drawn name, as the server draws it

type Key = keyof typeof naming;

/** Parts are the parts of the page that the dialog needs. */
export interface Parts {
  i18n: I18n<typeof strings>;
  session: Session;
  dialog: Dialog;
  /** a new guest begins to play */
  play: () => void;
  /** the guest has another name or face */
  renamed: () => void;
}

/** Me owns the dialog, and the buttons that open it. */
export class Me {
  readonly #parts: Parts;
  readonly #open = byId("me-open");
  readonly #edit = byId("me-edit");
  readonly #name = byId("me-name", HTMLInputElement);
  readonly #ok = byId("me-ok", HTMLButtonElement);
  #faces: readonly HTMLInputElement[] = []; // made when the dialog opens: few players open it
  #number = 0; // of the drawn name in the dialog; 0: the name is the guest's own
  #offered = 0; // of the drawn name on the landing, likewise

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#open.addEventListener("click", () => this.open());
    this.#edit.addEventListener("click", () => this.open());
    byId("me-draw").addEventListener("click", () => this.#draw());
    byId("me-close").addEventListener("click", () => this.close());
    this.#name.addEventListener("input", () => (this.#number = 0));
    byId("me-form").addEventListener("submit", (e) => {
      e.preventDefault();
      void this.#submit();
    });
    parts.i18n.onChange(() => this.#translate());
    this.#translate();
  }

  get isOpen(): boolean {
    return this.#parts.dialog.open;
  }

  close(): void {
    if (this.isOpen) this.#parts.dialog.close();
  }

  /** offer shows the guest-to-be on the landing, under a drawn name until one is chosen. */
  offer(): void {
    const { session } = this.#parts;
    if (!session.wish.name) {
      this.#offered = drawNumber();
      session.wish = this.#named(drawFace(), this.#offered);
    }
    const { name = "" } = session.wish;
    picture(byId("me-open-face", HTMLImageElement), pictureOf(session.wish));
    write(byId("me-open-name"), this.#t("me_open", { name: `\u2068${name}\u2069` }));
    this.#open.classList.add("named");
  }

  /** open asks for a name and a face. */
  open(): void {
    const { session, dialog } = this.#parts;
    const { name = "", face } = session.guest ? { name: session.called, face: session.face } : session.wish;
    this.#number = session.guest ? 0 : this.#offered;
    this.#name.value = name;
    if (!this.#faces.length) this.#faces = FACES.map((one) => this.#choice(one));
    for (const input of this.#faces) {
      input.checked = input.value === face;
      input.setAttribute("aria-label", this.#t(`face_${input.value as Face}`));
    }
    const words: readonly (readonly [string, Key])[] = [
      ["me-title", "me_title"], ["me-label", "me_name"], ["me-legend", "me_face"], ["me-draw", "me_draw"], ["me-close", "me_cancel"],
      ["me-ok", session.guest ? "me_save" : "me_play"],
    ];
    for (const [id, key] of words) write(byId(id), this.#t(key));
    this.#say(null);
    this.#ok.disabled = false;
    dialog.showModal();
  }

  // draw proposes another face and its name.
  #draw(): void {
    const face = drawFace(this.#chosen());
    for (const input of this.#faces) input.checked = input.value === face;
    this.#number = drawNumber();
    this.#name.value = this.#named(face, this.#number).name;
    this.#say(null);
  }

  // choose takes a face. A drawn name follows it; a guest's own stays.
  #choose(face: Face): void {
    if (this.#number) this.#name.value = this.#named(face, this.#number).name;
  }

  #chosen(): Face | undefined {
    return this.#faces.find((input) => input.checked)?.value as Face | undefined;
  }

  // choice makes the radio button of a face.
  #choice(face: Face): HTMLInputElement {
    const input = Object.assign(document.createElement("input"), { type: "radio", name: "face", value: face, className: "unseen" });
    const label = document.createElement("label");
    const image = new Image(48, 48);
    image.alt = "";
    picture(image, pictureOf({ face }));
    label.append(input, image);
    byId("me-faces").append(label);
    input.addEventListener("change", () => this.#choose(face));
    return input;
  }

  async #submit(): Promise<void> {
    const { session, play, renamed } = this.#parts;
    const face = this.#chosen() ?? drawFace();
    const own = this.#name.value.trim().replace(/\s+/g, " ");
    const wish: Wish = own ? { name: own, face } : this.#named(face, drawNumber());
    const isNew = !session.guest;
    this.#ok.disabled = true;
    this.#say(null);
    try {
      await session.call(wish);
    } catch (fault) {
      this.#ok.disabled = false;
      const refused = (fault as { status?: unknown } | null)?.status === 422; // its class is the other script's
      this.#say(refused ? "me_refused" : "me_failed");
      if (refused) this.#name.focus();
      return;
    }
    this.close();
    if (isNew) play();
    else renamed();
  }

  #named(face: Face, number: number): Required<Wish> {
    return { name: `${this.#t(`face_${face}`)} ${String(number).padStart(2, "0")}`, face };
  }

  #translate(): void {
    const { session } = this.#parts;
    write(this.#edit, this.#t("me_edit"));
    this.#edit.setAttribute("aria-label", this.#t("me_edit_label"));
    if (!session.known && this.#offered && session.wish.face) session.wish = this.#named(session.wish.face, this.#offered);
  }

  #say(key: Key | null): void {
    write(byId("me-message"), key ? this.#t(key) : "");
    this.#name.setAttribute("aria-invalid", String(key === "me_refused"));
  }

  #t(key: Key, values?: Values): string {
    return new I18n(naming, this.#parts.i18n.lang).t(key, values);
  }
}

function drawFace(not?: Face): Face {
  const all = FACES.filter((face) => face !== not);
  return all[Math.floor(Math.random() * all.length)] ?? "koi";
}

const drawNumber = (): number => 1 + Math.floor(Math.random() * MOST);
