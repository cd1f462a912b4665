// The player's page: makes its parts and connects them.

import "./play.css";

import { CloseCode, type Rain, type TapResult } from "../../sdk/index.ts";
import type { Mood } from "../late/music.ts";
import { type Phase, phaseOf } from "../rain/phase.ts";
import { ARRIVES } from "../rain/flight.ts";
import { type Prize, prizeOf } from "../rain/prize.ts";
import { Scene } from "../rain/scene.ts";
import type { Drop } from "../rain/sky.ts";
import { isGuest, masked } from "../rain/winners.ts";
import { I18n } from "../shared/i18n.ts";
import { home } from "../shared/join.ts";
import { yuan } from "../shared/money.ts";
import type { Claim } from "../shared/schemas.ts";
import type { Player } from "../shared/player.ts";
import { Session } from "../shared/session.ts";
import { inWeChat } from "../shared/wechat.ts";
import { takeBrought } from "../shared/address.ts";
import { Announcer } from "./announce.ts";
import { Card } from "./card.ts";
import { meet } from "./challenge.ts";
import { Awake } from "./awake.ts";
import { closable } from "./dialog.ts";
import { byId, middle, write } from "./dom.ts";
import { Entry } from "./entry.ts";
import { Game, type Scored } from "./game.ts";
import { Hud } from "./hud.ts";
import { Keys } from "./keys.ts";
import { Landing } from "./landing.ts";
import { atLeisure, late } from "./late.ts";
import type { Keepsake } from "../late/keepsake.ts";
import type { LuckCheck } from "../late/luck.ts";
import type { Me } from "../late/me.ts";
import type { Practice } from "../late/practice.ts";
import * as lobby from "./lobby.ts";
import * as login from "./login.ts";
import { newModel } from "./model.ts";
import { type Ended, problemOf } from "./problem.ts";
import { Room } from "./room.ts";
import { Combo, type Round, Rounds } from "./round.ts";
import { Sheet } from "./sheet.ts";
import { buzz, Sound } from "./sound.ts";
import { type Mode, type Problem, stage } from "./stage.ts";
import { strings } from "./strings.ts";
import { isOf, Wallet } from "./wallet.ts";

const LOBBY_EVERY = 5_000; // ms between requests for a campaign, while there is none
const FOLLOW_EVERY = 10_000; // ms between requests for the next campaign, while this one is idle
const TICKER_EVERY = 1_500; // ms for each winner
const CARD_AFTER = 600; // ms between the end of a rain and its card
const CARD_WAITS = 2_500; // ms for which the card waits for missing answers
const SOON = 10_000; // ms before a rain when its music begins
const HIGHEST = 12; // hits of a combo at which the music is at its height
const PRACTICE_BEFORE = 12_000; // ms before a rain when practice ends
const LOST_LONG = 6_000; // ms without a connection after which the page shows advice
const CLEAR_BEFORE = 3_500; // ms before a rain when the page makes room for it

const NOTHING: Ended = { title: "lobby_title", hint: "lobby_hint" };
const GONE = problemOf(CloseCode.unknownCampaign);

const session = new Session();
session.meet = meet;
const model = newModel(!session.known);
let phase: Phase = "none";
let timer = 0;
let following = false;

const now = (): number => room.now();
const i18n = new I18n(strings);
const wallet = new Wallet();
const rounds = new Rounds();
const combo = new Combo();
const sound = new Sound();
const hud = new Hud(i18n);
const canvas = byId("rain", HTMLCanvasElement);
const scene = new Scene(canvas, { now });
const announcer = new Announcer((n) => i18n.t("announce_missed", { n }));
const sheet = new Sheet({ i18n, wallet, session, announce: (text) => announcer.say(text), earlier });
const awake = new Awake();
let keepsake: Keepsake | null = null; // these four are loaded later
let me: Me | null = null;
let luck: LuckCheck | null = null;
let practice: Practice | null = null;
const card = new Card(i18n, { mine: () => sheet.open(), poster: portray, cheer, average, still: () => scene.still, closed: () => render() });
const active = (): boolean => (phase === "falling" || practice?.on === true) && !sheet.isOpen && !card.open && !keepsake?.isOpen;
const prize = (result: TapResult): Prize => result.outcome === "won" ? prizeOf(result.amount, average()) : "plain";
const game = new Game({ canvas, scene, client: () => room.client, now, active, prize, words, practised, tapped, scored });
const keys = new Keys({ canvas, scene, game, now, active, say: (key, values) => announcer.say(i18n.t(key, values)) });
const landing = new Landing(opened, (text) => entry.given(text), (key) => i18n.t(key));

const room = new Room({ model, session, wallet, scene, hud, landing, announcer, i18n, refresh: () => void sheet.refresh(), unheard, told: () => rounds.told(), changed: render });

const entry = new Entry({
  session, i18n, name: (user) => hud.player(user), become,
  coming: () => {
    if (session.known) return; // a signed-in player goes on until the choice is made
    Object.assign(model, { landing: false, problem: null });
    landing.show(false);
    render();
  },
  unreached: () => {
    if (!room.client) model.away = performance.now();
    render();
    return lobby.soon(LOBBY_EVERY);
  },
  stay: () => {
    if (!room.client) enter();
  },
  refused: outside,
});

// render writes the page from the model, and schedules itself for the time when the page changes by the clock alone.
function render(): void {
  clearTimeout(timer);
  const t = now();
  const { rain } = model;
  turn(phaseOf(rain, t), t);
  const left = rain && phase === "countdown" ? rain.starts_at - t : Infinity;
  const s = stage(model, t, lobby.left(model.about));
  const waits = s.mode === "waiting" || s.mode === "countdown";
  practice?.allow(waits && left > PRACTICE_BEFORE);
  if (practice?.on) s.note = { key: "practice_note", values: {} };
  if (s.mode === "paused" && rain && rounds.of(rain.id).wins) s.note = { key: "note_won", values: { amount: yuan(rounds.of(rain.id).amount) } };
  byId("practice").textContent = i18n.t(practice?.on ? "practice_end" : "practice");
  document.body.classList.toggle("practises", practice?.on === true);
  awake.want(waits || s.mode === "falling" || s.mode === "paused");
  const first = hud.stage(s, model.campaign ?? model.about);
  if (first && left <= 3_000) pulse();
  hud.facts(model.away === null ? model.online : null, model.away === null ? model.stock : null, rain ? remaining(rain, t) : 0);
  const hits = phase === "falling" ? combo.value(performance.now()) : 0;
  hud.combo(hits);
  sound.music(mood(s.mode, left), Math.min(1, hits / HIGHEST));
  hud.user(model.user, model.profile);
  const offered = model.landing && !model.problem && !!model.about?.guests && !!model.about.names;
  byId("me-open").hidden = !offered;
  if (offered) me?.offer();
  byId("login-profile").hidden = !inWeChat || !session.user.startsWith("wx-") || !!session.called || !model.about?.names;
  byId("me-edit").hidden = !me || !session.guest || !model.profile.name; // without a name, others see none
  banner();
  byId("other").hidden = lobby.named() === null || !(model.problem?.other || model.campaign?.state === "closed");
  cards(left);
  timer = setTimeout(render, left < Infinity ? Math.min(250, Math.max(4, left % 1000) + 1) : 250);
}

// mood returns the occasion of the music. left is the time until the next rain, ms.
function mood(mode: Mode, left: number): Mood {
  if (mode === "falling") return "rain";
  if (mode === "landing" || mode === "problem" || mode === "over") return "none";
  return left <= SOON ? "soon" : "calm";
}

// turn notices that a phase has begun, by a message or by the clock.
function turn(next: Phase, t: number): void {
  const ended = model.rain !== null && next === "ended" && scene.sky.rain === model.rain.id;
  if (ended) scene.clear();
  if (next === "falling" && model.rain) rounds.of(model.rain.id).played = true;
  if (next === phase) return;
  const before = phase;
  phase = next;
  scene.wake();
  canvas.tabIndex = phase === "falling" ? 0 : -1;
  byId("purse", HTMLButtonElement).disabled = phase === "falling";
  if (phase !== "falling" && document.activeElement === canvas) canvas.blur();
  if (phase === "countdown") scene.effects.clear(); // taps without an answer are not shown in the next rain
  if (phase === "falling" && model.rain) {
    announcer.rain();
    announcer.alarm(i18n.t("announce_begins"));
    canvas.focus({ preventScroll: true, focusVisible: keys.used });
    if (before === "countdown" && t - model.rain.starts_at < 1_000) sound.play("go");
  } else if (phase === "ended") {
    model.over = before === "falling" || before === "paused" ? performance.now() : -Infinity;
    combo.end();
    announcer.rain();
    if (before === "falling") finish();
  } else if (phase === "paused") {
    announcer.say(`${i18n.t("paused_title")} ${i18n.t("paused_hint")}`);
  }
}

function finish(): void {
  sound.play("end");
  const round = model.rain && rounds.of(model.rain.id);
  if (round?.wins) announcer.say(i18n.t("announce_total", { amount: yuan(round.amount), n: round.wins }));
}

function pulse(): void {
  sound.play("tick");
  buzz(15);
}

/** remaining is the part of a falling rain that is left, 0…1. */
function remaining(rain: Rain, t: number): number {
  if (phase !== "falling") return 0;
  return Math.min(1, Math.max(0, 1 - (t - rain.starts_at) / (rain.ends_at - rain.starts_at)));
}

// cards shows the last rain's card until it is closed or the next rain begins. left is the time until then, in ms.
function cards(left: number): void {
  const { rain } = model;
  if (rain) luck?.note(rain);
  const time = left < Infinity ? hud.lasting(left) : null;
  const calm = left > CLEAR_BEFORE && phase !== "falling" && !model.problem;
  const free = calm && phase !== "paused"; // during a pause the packets can be opened, but not the last card
  if (!calm) {
    sheet.close();
    me?.close();
    keepsake?.close();
  }
  sheet.next(time === null ? "" : i18n.t("sheet_next", { time }));
  const round = rounds.card((id) => id !== rain?.id || phase === "ended");
  if (!round || !free || sheet.isOpen || me?.isOpen || keepsake?.isOpen) {
    if (round && !free) round.dismissed = true;
    card.hide();
    return;
  }
  const since = performance.now() - model.over;
  if (!card.open && (since < CARD_AFTER || (round.pending > 0 && since < CARD_WAITS))) return;
  const closed = model.campaign?.state === "closed";
  const stopped = rain?.id === round.rain && rain.ends_at < rain.starts_at + rain.duration_ms + rain.fall_ms;
  luck?.show(round.rain);
  const [best] = model.top;
  const leads = best?.user === masked(model.user) && best.amount === wallet.amounts(model.campaign?.id ?? "").reduce((sum, n) => sum + n, 0);
  card.show(round, {
    early: !stopped ? null : closed ? "closed" : "stopped",
    over: closed || model.stock === 0,
    next: time,
    best: best ? { ...best, user: hud.called(best) } : null,
    leads,
  });
}

let lost = 0; // start of the lost connection, ms of the page's clock; 0: connected
function banner(): void {
  if (model.away === null) {
    lost = 0;
    return hud.banner(null, 0, "");
  }
  lost ||= performance.now();
  const offline = navigator.onLine === false;
  const long = offline || performance.now() - lost > LOST_LONG;
  const seconds = Math.ceil((model.away - performance.now()) / 1000);
  hud.banner(i18n.t(model.since ? "reconnecting" : "unreached"), seconds > 1 ? seconds : 0, long ? i18n.t(offline ? "lost_offline" : "lost_hint") : "");
}

function words(look: string, result: TapResult, won: Prize): readonly [string, string] {
  const key = i18n.has(look) && i18n.has(`${look}_sub`) ? look : "error";
  const sub = won === "plain" ? `${key}_sub` : `won_${won}`;
  return [i18n.t(key, { amount: result.outcome === "won" ? yuan(result.amount) : "" }), i18n.has(sub) ? i18n.t(sub) : ""];
}

// average is the average packet of the event, minor units; 0 if unknown.
function average(): number {
  const { budget = 0, packets = 0 } = model.campaign ?? {};
  return packets > 0 ? budget / packets : 0;
}

// full reports whether the player has all packets that one may win in the event.
function full(): boolean {
  const max = model.campaign?.wins_per_user ?? 0;
  return max > 0 && model.packets >= max;
}

// opened handles the press that opens the landing. It lets sound begin, and the page answers with sound, vibration and
// confetti.
function opened(): void {
  const at = middle(byId("play"));
  sound.play("open");
  buzz(30);
  scene.cheer(1, at.x, at.y);
  enter();
}

// cheer celebrates when the card's envelope has opened.
function cheer(tier: number): void {
  if (tier > 1) sound.play("prize");
  if (tier > 0) scene.cheer(tier + 1);
}

function portray(round: Round): void {
  const { id = "", name = "" } = model.campaign ?? {};
  const rank = card.rank(round);
  const at = home(new URL(location.href), model.about?.join ?? null) ?? `${location.origin}/`;
  keepsake?.open(round, name, rank, `${at}?campaign=${encodeURIComponent(id)}`);
}

function practised({ id, decoy }: Drop): void {
  const look = decoy ? "decoy" : "practice";
  const [line, small] = [i18n.t(decoy ? "decoy" : "practice_hit"), i18n.t("practice_sub")];
  scene.tell(id, { look, line, small });
  sound.play(decoy ? "bomb" : "tap");
  buzz(8);
  announcer.miss(`${line}. ${small}`);
}

function tapped(rain: string): void {
  scene.view.purse = middle(byId("purse"));
  fit();
  rounds.of(rain).pending++;
  sound.play("tap");
  buzz(8);
}

function scored({ rain, result, look, line, small, prize }: Scored): void {
  const round = rounds.of(rain);
  round.pending--;
  round.taps++;
  if (look === "unsure") round.lost++;
  if (look === "won" || look === "empty" || look === "already") round.combo = Math.max(round.combo, combo.hit(performance.now()));
  else if (look === "decoy") combo.end();
  if (result.outcome === "won") {
    if (wallet.won(result)) model.packets++;
    if (round.won(result.claim, result.amount, prize, result.luck)) win(result.amount, prize);
  } else {
    if (look !== "unsure") {
      hud.say(line, false);
      sound.play(look === "decoy" ? "bomb" : "empty");
      if (look === "decoy") buzz([60, 30, 60]);
    }
    announcer.miss(`${line}. ${small}`);
  }
  render();
}

// unheard counts a win whose result was lost. It came with a settlement or a welcome.
function unheard(claim: string, amount: number, luck = 0): void {
  model.packets++;
  const kind = prizeOf(amount, average());
  if (rounds.unheard(model.rain?.id)?.won(claim, amount, kind, luck)) win(amount, kind);
}

// earlier adds this rain's wins from before the page was loaded to the card. items are claims of the ledger.
function earlier(items: readonly Claim[]): void {
  const { campaign, rain, since } = model;
  if (!campaign || !rain) return;
  const round = rounds.of(rain.id);
  for (const c of items) if (c.at >= rain.starts_at && c.at < since && isOf(c.claim, campaign.id)) round.won(c.claim, c.amount, prizeOf(c.amount, average()));
}

function win(amount: number, kind: Prize): void {
  sound.play(kind === "plain" ? "win" : "prize");
  buzz([25, 40, 60]);
  const said = i18n.t("won", { amount: yuan(amount) }) + (kind === "plain" ? "" : ` · ${i18n.t(`won_${kind}`)}`);
  setTimeout(() => hud.say(said, true), scene.still ? 0 : ARRIVES);
  const max = model.campaign?.wins_per_user ?? 0;
  const won = i18n.t("announce_won", { amount: yuan(amount), n: model.packets, max });
  announcer.say(kind === "plain" ? won : i18n.t("announce_prize", { prize: i18n.t(`won_${kind}`), won }));
}

// enter begins to play with the session's token, or begins again after a problem.
function enter(): void {
  Object.assign(model, { landing: false, problem: null });
  landing.show(false);
  const campaign = lobby.named();
  if (room.client || campaign) room.play(campaign, lobby.spread(model.about));
  else if (!following) void follow();
  render();
}

// renamed shows the guest's new name, and sends it.
function renamed(): void {
  model.profile = { name: session.called, face: session.face };
  void room.client?.renew();
  render();
}

// become changes the player.
function become(player: Player): void {
  session.use(player);
  wallet.reset();
  rounds.clear();
  room.client?.close();
  enter();
}

// outside shows other ways to play after a failed link.
function outside(problem: Problem, banned: boolean): void {
  Object.assign(model, { problem, away: null });
  landing.show(!banned, false);
  render();
  if (!banned) void room.again();
}

// follow finds the campaign to play, and the next one when this one is idle.
async function follow(): Promise<never> {
  following = true;
  for (;;) {
    try {
      const about = await lobby.lobby();
      const campaign = about?.campaign;
      if (campaign && !room.client) room.play(campaign, lobby.spread(about));
      else if (campaign) move(campaign);
      else if (!room.client) model.problem = NOTHING;
      if (!room.client) model.away = null;
    } catch {
      if (!room.client) model.away = performance.now();
    }
    render();
    do {
      await lobby.soon(room.client && !model.problem ? FOLLOW_EVERY : LOBBY_EVERY);
    } while (document.hidden || phase === "countdown" || phase === "falling");
  }
}

// move goes to another campaign, also from one that does not exist any more.
function move(campaign: string): void {
  const gone = model.problem?.title === "ended_campaign" && room.client?.campaign !== campaign;
  room.client?.join(campaign);
  if (gone) enter();
}

// introduce shows the event to visitors who have not signed in. It repeats the request, because a rain may begin soon.
async function introduce(): Promise<void> {
  for (let offered: boolean | null | undefined; model.landing; ) {
    try {
      const l = await lobby.lobby(lobby.named());
      if (!model.landing || login.begin(l?.logins)) return;
      landing.know(l?.logins, l?.names);
      const guests = l && (l.guests ?? true);
      // Without an event there is no button to play. This node may not have a new event yet, so it is requested once
      // more.
      const problem = l ? null : lobby.named() ? GONE : NOTHING;
      Object.assign(model, { about: l, away: null, problem });
      if (offered !== guests) landing.show(!!l, !!guests, problem?.retry);
      offered = guests;
    } catch {
      model.away = performance.now();
    }
    render();
    do {
      await lobby.soon(offered == null ? LOBBY_EVERY : FOLLOW_EVERY);
    } while (document.hidden);
  }
}

let shown = 0;
function ticker(): void {
  const list = model.winners;
  const winner = model.campaign?.state === "closed" ? undefined : list[shown++ % Math.max(1, list.length)]; // no news of a closed event
  const own = winner && isGuest(model.user) && winner.user === masked(model.user) && wallet.amounts(model.campaign?.id ?? "").includes(winner.amount);
  hud.ticker(winner ?? null, own);
}

function translate(): void {
  hud.purse(wallet);
  hud.sound(sound.on);
  ticker();
  render();
}

// fit sets the part of the scene that the page's head covers, so that no text is drawn there.
function fit(): void {
  scene.view.top = byId("head").offsetHeight;
}

i18n.apply();
i18n.onChange(translate);
wallet.addEventListener("change", () => hud.purse(wallet));
byId("language").addEventListener("click", () => i18n.change());
byId("sound").addEventListener("click", () => {
  sound.toggle();
  hud.sound(sound.on);
});
byId("purse").addEventListener("click", () => sheet.open());
byId("mine").addEventListener("click", () => sheet.open());
byId("retry").addEventListener("click", () => (model.problem?.reload ? location.reload() : enter()));
document.addEventListener("keydown", () => document.body.classList.add("keys"), { once: true });
window.addEventListener("resize", fit);
setInterval(ticker, TICKER_EVERY);
document.addEventListener("visibilitychange", () => (model.winners = [])); // earlier winners are no news
fit();
if (new URL(location.href).searchParams.has("debug")) void late().then((there) => there?.expose(scene, now, () => room.client));
atLeisure((there) => {
  keepsake = new there.Keepsake(i18n, closable("poster"));
  me = new there.Me({ i18n, session, dialog: closable("me"), play: opened, renamed });
  luck = new there.LuckCheck({ i18n, session, user: () => model.user, full });
  if (inWeChat && !session.guest) {
    byId("login-profile", HTMLAnchorElement).href = login.addressOf("wechat", true);
    if (!model.about) void lobby.lobby(lobby.named()).then((about) => (model.about ??= about), () => {});
  }
  practice = new there.Practice({ scene, now, changed: render });
  card.posters();
  render();
});
write(byId("user"), "");
translate();
window.addEventListener("hashchange", () => entry.look());
const fault = takeBrought("login");
if (entry.look()) render();
else if (fault !== null && model.landing) outside(login.failed(fault), fault === "banned");
else if (model.landing) void introduce();
else enter();
