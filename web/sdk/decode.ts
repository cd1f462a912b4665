// Frames of the server, read with care: whatever is not a message of the protocol is left out, so that nothing that comes over
// the line can break the client or the page.

import type {
  CampaignMessage, Drop, ErrorMessage, GoodbyeMessage, RainMessage, ResultMessage, RoomMessage, SettledMessage, WaveMessage,
  WelcomeMessage, WithdrawalMessage,
} from "./redrain.d.ts";

/** Pong answers a ping. */
export interface PongMessage {
  type: "pong";
  id: number;
  server_time: number;
}

/** RenewedMessage answers a new token. */
export interface RenewedMessage {
  type: "token_renewed";
  token_expires_at: number;
}

/** Message is any message of the server. */
export type Message =
  | WelcomeMessage & { id: number } | RainMessage | CampaignMessage | WaveMessage | ResultMessage | SettledMessage | RoomMessage
  | WithdrawalMessage | ErrorMessage | GoodbyeMessage | PongMessage | RenewedMessage;

/** The required fields of each message, "name:kind". Kinds: s(tring), n(umber), o(bject), l(ist). */
const NEEDED: Record<Message["type"], string> = {
  welcome: "server_time:n campaign:o campaign.id:s claims:l",
  rain: "rain:o",
  campaign: "campaign:o",
  wave: "n:n at:n drops:l",
  result: "drop:s outcome:s",
  settled: "claims:l balance:n",
  room: "t:n",
  withdrawal: "withdrawal:o balance:n",
  error: "code:s",
  goodbye: "",
  pong: "server_time:n",
  token_renewed: "token_expires_at:n",
};

type Fields = Record<string, unknown>;

/** decode gives the messages of one frame, in order. A frame may hold several, one on each line. */
export function decode(data: unknown): Message[] {
  if (typeof data !== "string") return [];
  return data.split("\n").flatMap((line) => {
    try {
      const m: unknown = JSON.parse(line);
      return isMessage(m) ? [finish(m)] : [];
    } catch {
      return []; // no JSON: an empty line, or something foreign
    }
  });
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isMessage(m: unknown): m is Message {
  if (!isObject(m) || typeof m.type !== "string" || !Object.prototype.hasOwnProperty.call(NEEDED, m.type)) return false;
  const needed = NEEDED[m.type as Message["type"]];
  return needed.split(" ").every((need) => {
    const [path = "", kind] = need.split(":");
    const value = path.split(".").reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), m);
    switch (kind) {
      case "s": return typeof value === "string";
      case "n": return Number.isFinite(value);
      case "o": return isObject(value);
      case "l": return Array.isArray(value);
      default: return true;
    }
  });
}

/** finish expands the short forms of a message. */
function finish(m: Message): Message {
  if (m.type === "wave") m.drops = (m.drops as unknown[]).flatMap((d) => drop(m, d));
  if (m.type === "room") m.winners = Array.isArray(m.winners) ? m.winners : []; // null without a winner
  return m;
}

/** drop reads [k, x, kind, fall_ms]. */
function drop(wave: WaveMessage, fields: unknown): Drop[] {
  if (!Array.isArray(fields) || !fields.slice(0, 4).every(Number.isFinite) || fields.length < 4) return [];
  const [k, x, kind, fall] = fields as [number, number, number, number];
  return [{ id: `${wave.n}.${k}`, x, kind: kind === 1 ? "decoy" : "packet", at: wave.at, fall_ms: fall }];
}
