// The player's page: makes the parts and introduces them to each other.

import "./play.css";

import { CloseCode, RainClient } from "../../sdk/index.ts";
import { I18n } from "../shared/i18n.ts";
import { yuan } from "../shared/money.ts";
import { Session } from "../shared/session.ts";
import { phaseOf } from "../rain/phase.ts";
import { Scene } from "../rain/scene.ts";
import { mergeNewest } from "../rain/winners.ts";
import { Game } from "./game.js";
import { Hud } from "./hud.js";
import * as lobby from "./lobby.js";
import { Round } from "./round.js";
import { Sheet } from "./sheet.js";
import { stage } from "./stage.js";
import { strings } from "./strings.js";
import { Wallet } from "./wallet.js";

const LOBBY_EVERY = 5_000; // ms between questions for a campaign, while there is none
const FOLLOW_EVERY = 10_000; // ms between questions for the next one, while this one is idle
const TICKER_EVERY = 1_500; // ms for each winner
const CARD_UNTIL = 4_000; // ms before the next rain at which the card makes room

const $ = (id) => document.getElementById(id);
const i18n = new I18n(strings);
const session = new Session();
let client = null;
const clock = { now: () => client?.serverNow() ?? Date.now() };
const wallet = new Wallet();
const hud = new Hud(i18n);
const scene = new Scene($("rain"), clock);
const sheet = new Sheet({ i18n, wallet, session });

const model = { problem: null, campaign: null, rain: null, stock: null, online: null, winners: [], user: "", banner: null };
let round = new Round();
let timer = 0;
let renewed = false; // a new guest was made since the last welcome

// render writes the page from the model, and comes again when time alone will have changed it.
function render() {
  clearTimeout(timer);
  const t = clock.now();
  const phase = phaseOf(model.rain, t);
  if (model.rain) round = round.of(model.rain.id);
  if (phase === "falling") round.played = true;
  if (phase === "ended" && scene.sky.rain === model.rain.id) scene.clear();
  scene.dim = phase === "paused";
  hud.stage(stage(model, t));
  hud.facts({ online: model.online, stock: model.stock, progress: progress(model.rain, t, phase) });
  hud.card(round.hasCard && cardFits(phase, t) ? round : null);
  hud.banner(bannerText());
  hud.user(model.user);
  timer = setTimeout(render, phase === "countdown" ? untilNextSecond(model.rain.starts_at - t) : 250);
}

function untilNextSecond(ms) {
  return Math.min(250, Math.max(4, ms % 1000) + 1);
}

function progress(rain, t, phase) {
  if (phase !== "falling" && phase !== "paused") return 0;
  return Math.min(1, Math.max(0, 1 - (t - rain.starts_at) / (rain.ends_at - rain.starts_at)));
}

function cardFits(phase, t) {
  return phase === "ended" || (phase === "countdown" && model.rain.starts_at - t > CARD_UNTIL);
}

function bannerText() {
  if (!model.banner) return null;
  const s = Math.ceil((model.banner - performance.now()) / 1000);
  return s > 1 ? i18n.t("reconnect_in", { s }) : i18n.t("reconnecting");
}

// words are the texts for an outcome.
function words(outcome, result) {
  const key = i18n.has(outcome) ? outcome : "error";
  const amount = result.amount === undefined ? "" : yuan(result.amount);
  return [i18n.t(key, { amount }), i18n.t(`${key}_sub`)];
}

function play(campaign) {
  client = new RainClient({ token: () => session.token(), campaign });
  const game = new Game({ canvas: $("rain"), scene, client, clock, words });
  const on = (type, fn) => client.on(type, (m) => (fn(m), render()));

  on("welcome", (m) => {
    renewed = false;
    if (model.campaign?.id !== m.campaign.id) Object.assign(model, { stock: null, winners: [] });
    Object.assign(model, { problem: null, campaign: m.campaign, rain: m.rain, user: m.user, banner: null });
    hud.signin(false);
    hud.retry(false);
    wallet.welcome(m.claims, m.claims_total);
    if (wallet.balance === null) sheet.refresh();
  });
  on("rain", (m) => (model.rain = m.rain));
  on("campaign", (m) => (model.campaign = m.campaign));
  on("wave", (m) => game.wave(m));
  on("room", (m) => {
    Object.assign(model, { online: m.online, stock: m.stock });
    model.winners = mergeNewest(model.winners, m.winners ?? [], 8);
  });
  on("settled", (m) => {
    wallet.settled(m.claims, m.balance);
    hud.bump();
  });
  on("tick", () => {});
  on("state", connection);
  game.addEventListener("result", ({ detail }) => scored(detail));
  client.connect();
}

function scored({ result, line }) {
  round.tapped();
  if (result.outcome === "won" && wallet.won(result)) {
    round.won(result.amount);
    navigator.vibrate?.([25, 40, 60]);
    hud.announce(i18n.t("announce_won", { amount: yuan(result.amount) }));
  } else {
    hud.announce(line);
  }
  render();
}

// connection follows the socket: a banner while it is away, a plain word when it will not come back.
function connection({ state, code, retryIn }) {
  if (state === "waiting") model.banner = performance.now() + retryIn;
  if (state !== "ended") return;
  model.banner = null;
  if (code === CloseCode.badToken && session.guest && !renewed) {
    // A guest is a name and no more: take another. Once, or a server that refuses all would be asked for ever.
    renewed = true;
    session.forget();
    wallet.reset();
    client.connect();
    return;
  }
  const signin = code === CloseCode.badToken || (code >= 400 && code < 500);
  if (signin) model.problem = { title: "signin_title", hint: code === CloseCode.badToken ? "signin_bad" : "signin_hint" };
  else if (code === CloseCode.unknownCampaign) model.problem = { title: "ended_campaign", hint: "ended_campaign_hint" };
  else if (code === CloseCode.tooManyConnections) model.problem = { title: "ended_many", hint: "ended_many_hint" };
  else model.problem = { title: "ended_other", hint: "ended_other_hint", values: { code } };
  hud.signin(signin);
  hud.retry(!signin && code !== CloseCode.unknownCampaign);
}

// follow finds the campaign to play, and the next one when this one has come to rest.
async function follow() {
  for (;;) {
    try {
      const campaign = await lobby.current();
      if (campaign && !client) play(campaign);
      else if (campaign) client.join(campaign);
      else if (!client) model.problem = { title: "lobby_title", hint: "lobby_hint" };
      model.banner = client ? model.banner : null;
    } catch {
      if (!client) model.banner = performance.now();
    }
    render();
    do {
      await lobby.soon(client ? FOLLOW_EVERY : LOBBY_EVERY);
    } while (document.hidden || busy());
  }
}

function busy() {
  const phase = phaseOf(model.rain, clock.now());
  return phase === "countdown" || phase === "falling";
}

let shown = 0;
function ticker() {
  const list = model.winners;
  hud.ticker(list.length ? list[shown++ % list.length] : null);
}

i18n.apply();
i18n.onChange(() => (hud.purse(wallet), render(), ticker()));
wallet.addEventListener("change", () => hud.purse(wallet));
$("language").addEventListener("click", () => i18n.change());
$("purse").addEventListener("click", () => sheet.open());
$("mine").addEventListener("click", () => sheet.open());
$("card-ok").addEventListener("click", () => ((round.dismissed = true), render()));
$("retry").addEventListener("click", () => ((model.problem = null), hud.retry(false), client.connect(), render()));
$("signin").addEventListener("submit", (e) => {
  e.preventDefault();
  session.use($("signin-token").value.trim());
  wallet.reset();
  client.connect();
});
setInterval(ticker, TICKER_EVERY);
scene.view.top = document.querySelector(".head").offsetHeight;
render();
const campaign = lobby.named();
if (campaign) play(campaign);
else follow();
