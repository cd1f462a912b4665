// In WeChat's browser the page sets the look of a shared link by the JS-SDK
// (https://developers.weixin.qq.com/doc/service/en/guide/h5/jssdk.html). If that fails, the page stays as it is.

import { within } from "../shared/patience.ts";
import { load } from "../shared/script.ts";

const PATIENCE = 10_000; // ms for the signer

const SIGNED = ["appId", "timestamp", "nonceStr", "signature"] as const;
const CALLS = ["updateAppMessageShareData", "updateTimelineShareData"] as const;
const CONFIRM = "requestMerchantTransfer"; // see late/transfer.ts

type Signed = Record<(typeof SIGNED)[number], string | number>;

/** Share is the shared content: to a chat with desc, and to Moments without it. */
interface Share {
  title: string;
  desc: string;
  link: string;
  imgUrl: string;
}

/** Sdk is the used part of WeChat's JS-SDK; an older one may lack the calls. */
interface Sdk extends Partial<Record<(typeof CALLS)[number], (share: Share) => void>> {
  config(options: Signed & { jsApiList: readonly string[] }): void;
  ready(then: () => void): void;
}

/** sign gets a signature of the page's address. For WeChat the address ends before the #. */
async function sign(signer: string): Promise<Signed> {
  const at = new URL(signer, location.href);
  at.searchParams.set("url", location.href.replace(/#.*/s, ""));
  const answer = await fetch(at, { signal: within(PATIENCE), credentials: "omit" });
  if (!answer.ok) throw new Error(`${at.origin} answers ${answer.status}`);
  const all = (await answer.json()) as Partial<Signed>;
  return Object.fromEntries(SIGNED.map((name) => {
    const value = all[name];
    if (!value || !["string", "number"].includes(typeof value)) throw new Error(`${at.origin} answers without ${name}`);
    return [name, value];
  })) as Signed;
}

function said(property: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[property="og:${property}"]`)?.content ?? "";
}

/** shared returns the content for all chats, with only the event of the address. */
function shared(): Share {
  const link = new URL("/", location.href);
  const campaign = new URL(location.href).searchParams.get("campaign");
  if (campaign) link.searchParams.set("campaign", campaign);
  return { title: said("title"), desc: said("description"), link: link.href, imgUrl: new URL(said("image"), location.href).href };
}

async function introduce({ sdk = "", sign: signer = "" }: DOMStringMap): Promise<void> {
  const [signed] = await Promise.all([sign(signer), load(sdk)]);
  const wx = (globalThis as unknown as { wx?: Sdk }).wx;
  if (!wx) throw new Error(`${sdk} has brought no wx`);
  wx.config({ ...signed, jsApiList: [...CALLS, CONFIRM] });
  wx.ready(() => {
    for (const call of CALLS) wx[call]?.(shared());
  });
}

const asked = document.querySelector<HTMLMetaElement>("meta[name=wechat]");
// It is only a debug message, for an operator who looks for the fault: players are not affected.
if (asked) introduce(asked.dataset).catch((fault: unknown) => console.debug("WeChat's JS-SDK:", fault));
