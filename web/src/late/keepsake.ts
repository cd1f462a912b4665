// The poster in a dialog, to keep or to share.

import type { Prize } from "../rain/prize.ts";
import { I18n } from "../shared/i18n.ts";
import { yuan } from "../shared/money.ts";
import type { Dialog } from "../play/dialog.ts";
import { byId, write } from "../play/dom.ts";
import type { Round } from "../play/round.ts";
import type { strings } from "../play/strings.ts";
import { poster } from "./poster.ts";
import { posters } from "./strings.ts";

const KIND = "image/jpeg";

/** Keepsake makes one poster at a time. */
export class Keepsake {
  readonly #i18n: I18n<typeof strings>;
  readonly #dialog: Dialog;
  readonly #picture = byId("poster-picture", HTMLImageElement);
  #files: File[] = [];

  constructor(i18n: I18n<typeof strings>, dialog: Dialog) {
    this.#i18n = i18n;
    this.#dialog = dialog;
    byId("poster-close").addEventListener("click", () => this.close());
    byId("poster-share").addEventListener("click", () => void this.#share());
  }

  get isOpen(): boolean {
    return this.#dialog.open;
  }

  close(): void {
    if (this.#dialog.open) this.#dialog.close();
  }

  /** open makes the poster of a round. address is the page's, without the player's data. */
  open(round: Round, event: string, rank: string, address: string): void {
    if (this.#dialog.open) return;
    const words = new I18n(posters, this.#i18n.lang);
    const t = words.t.bind(words);
    const title = t(round.wins === 1 ? "poster_won_one" : "poster_won", { n: round.wins });
    const amount = yuan(round.amount);
    const image = poster({ event, title, amount: `¥${amount}`, rank, scan: t("poster_scan") }, precious(round), address);
    // A long press on a phone saves a picture only if its address contains the data.
    const data = image.toDataURL(KIND, 0.9);
    this.#picture.src = data;
    this.#picture.alt = t("poster_alt", { amount });
    byId("poster-save", HTMLAnchorElement).href = data;
    write(byId("poster-keep"), t(matchMedia("(pointer: coarse)").matches ? "poster_keep" : "poster_keep_mouse"));
    this.#offer(image);
    this.#dialog.showModal();
  }

  // offer shows the button of the phone's own share sheet if that accepts pictures.
  #offer(image: HTMLCanvasElement): void {
    const button = byId("poster-share");
    button.hidden = true;
    if (!("canShare" in navigator) || typeof File === "undefined") return;
    image.toBlob((blob) => {
      if (!blob) return;
      this.#files = [new File([blob], "redrain.jpg", { type: KIND })];
      button.hidden = !navigator.canShare({ files: this.#files });
    }, KIND, 0.9);
  }

  async #share(): Promise<void> {
    try {
      await navigator.share({ files: this.#files });
    } catch {
      // the player has cancelled
    }
  }
}

function precious({ prizes }: Round): Prize {
  return prizes.fortune ? "fortune" : prizes.gold ? "gold" : "plain";
}
