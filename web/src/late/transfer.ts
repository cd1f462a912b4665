// A player confirms a transfer by WeChat: in WeChat by its bridge, elsewhere by a QR code that opens the page in WeChat.

import type { Withdrawal } from "../../sdk/index.ts";
import type { Dialog } from "../play/dialog.ts";
import { byId, write } from "../play/dom.ts";
import type { strings } from "../play/strings.ts";
import { request } from "../shared/api.ts";
import { I18n } from "../shared/i18n.ts";
import { yuan } from "../shared/money.ts";
import { within } from "../shared/patience.ts";
import type { LoginCode } from "../shared/schemas.ts";
import type { Session } from "../shared/session.ts";
import { inWeChat } from "../shared/wechat.ts";
import { code } from "./code.ts";
import { confirming } from "./strings.ts";

const PATIENCE = 10_000; // ms for an answer, and for WeChat's bridge
const AGAIN = 105_000; // ms after which the code in the picture is replaced: it lives for two minutes

type Action = NonNullable<Withdrawal["action"]>;
type Key = keyof typeof confirming;

/** Bridge is WeChat's interface for pages, which it adds after a while. */
interface Bridge {
  invoke(call: string, values: Record<string, string | undefined>, then: (answer: { err_msg?: string }) => void): void;
}

/** Parts are the parts of the page that a confirmation needs. */
export interface Parts {
  i18n: I18n<typeof strings>;
  session: Session;
  dialog: Dialog;
  /** the player may have confirmed */
  done: () => void;
}

/** Transfer confirms one withdrawal at a time. */
export class Transfer {
  readonly #parts: Parts;
  #withdrawal = ""; // in the dialog
  #timer = 0;
  #words: () => void = () => {};

  constructor(parts: Parts) {
    this.#parts = parts;
    byId("transfer-close").addEventListener("click", () => this.close());
    parts.dialog.addEventListener("close", () => {
      clearTimeout(this.#timer);
      this.#withdrawal = "";
    });
    parts.i18n.onChange(() => this.#words());
  }

  close(): void {
    if (this.#parts.dialog.open) this.#parts.dialog.close();
  }

  /** confirm asks the player in WeChat, or shows the way there. */
  confirm(w: Withdrawal): void {
    if (inWeChat && w.action) void this.#ask(w.action);
    else void this.#show(w);
  }

  /** follow closes the dialog when its withdrawal does not wait any more. */
  follow(all: readonly Withdrawal[]): void {
    if (!this.#withdrawal) return;
    const w = all.find((one) => one.withdrawal === this.#withdrawal);
    if (w && w.stage !== "action_required") this.close();
  }

  // ask opens WeChat's own page (https://pay.weixin.qq.com/doc/v3/merchant/4012716430). Its "ok" means that the player
  // has come back, and not that the transfer is confirmed: the ledger knows.
  async #ask({ mch_id, app_id, package: bill }: Action): Promise<void> {
    try {
      const { err_msg = "" } = await invoke("requestMerchantTransfer", { mchId: mch_id, appId: app_id, package: bill });
      if (!/:(ok|cancel)$/.test(err_msg)) this.#explain("transfer_old", "transfer_old_text");
    } catch {
      this.#explain("transfer_old", "transfer_old_text");
    }
    this.#parts.done();
  }

  #explain(title: Key, text: Key, amount = ""): void {
    this.#words = () => {
      const t = new I18n(confirming, this.#parts.i18n.lang);
      write(byId("transfer-title"), t.t(title, { amount }));
      write(byId("transfer-text"), t.t(text));
      byId("transfer-code").setAttribute("aria-label", t.t("transfer_code"));
    };
    this.#words();
    if (this.#parts.dialog.open) return;
    byId("transfer-code").hidden = true;
    this.#parts.dialog.showModal();
  }

  // show shows a picture with a login code, which is good for one scan within two minutes: in WeChat the page then is
  // the same player's. It is replaced in time.
  async #show(w: Withdrawal): Promise<void> {
    const { session, dialog } = this.#parts;
    this.#withdrawal = w.withdrawal;
    this.#explain("transfer_scan", "transfer_scan_text", yuan(w.amount));
    try {
      const token = await session.token();
      const campaign = new URL(location.href).searchParams.get("campaign") ?? "";
      const made = await request<LoginCode>("/login-codes", { method: "POST", token, body: { campaign }, signal: within(PATIENCE) });
      if (this.#withdrawal !== w.withdrawal || !dialog.open) return;
      this.#paint(new URL(made.link, location.href).href);
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.#show(w), AGAIN);
    } catch {
      if (this.#withdrawal === w.withdrawal) this.#explain("transfer_scan", "transfer_failed", yuan(w.amount));
    }
  }

  #paint(address: string): void {
    const image = byId("transfer-code", HTMLCanvasElement);
    const c = image.getContext("2d");
    if (!c) return;
    c.clearRect(0, 0, image.width, image.height);
    code(c, address, 0, 0, image.width);
    image.hidden = false;
  }
}

// invoke calls WeChat's bridge, when it is there.
function invoke(call: string, values: Record<string, string | undefined>): Promise<{ err_msg?: string }> {
  return new Promise((resolve, reject) => {
    const bridge = (): Bridge | undefined => (globalThis as unknown as { WeixinJSBridge?: Bridge }).WeixinJSBridge;
    const ask = (): void => bridge()?.invoke(call, values, resolve);
    if (bridge()) return ask();
    document.addEventListener("WeixinJSBridgeReady", ask, { once: true });
    setTimeout(() => bridge() || reject(new Error("WeChat's bridge does not come")), PATIENCE);
  });
}
