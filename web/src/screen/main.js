// The big screen of an event: it joins the room like a player, and never taps. It comes back from everything by itself.

import "./screen.css";

import { CloseCode, RainClient } from "../../sdk/index.ts";
import { I18n } from "../shared/i18n.ts";
import { yuan } from "../shared/money.ts";
import { Session } from "../shared/session.ts";
import * as lobby from "../play/lobby.ts";
import { stage } from "../play/stage.ts";
import { strings } from "../play/strings.ts";
import { phaseOf } from "../rain/phase.ts";
import { Scene } from "../rain/scene.ts";
import { mergeNewest } from "../rain/winners.ts";

const WINNERS = 12;
const AGAIN = 10_000; // ms before an ended connection is tried anew: nobody is there to press a button

const $ = (id) => document.getElementById(id);
const i18n = new I18n(strings);
let client = null;
const clock = { now: () => client?.serverNow() ?? Date.now() };
const session = new Session();
const scene = new Scene($("rain"), clock);
const model = { problem: null, campaign: null, rain: null, stock: null, won: null, online: null, winners: [], away: false };
let timer = 0;

function render() {
  clearTimeout(timer);
  const t = clock.now();
  const phase = phaseOf(model.rain, t);
  if (phase === "ended" && scene.sky.rain === model.rain.id) scene.clear();
  scene.dim = phase === "paused";
  const s = stage(model, t);
  document.body.dataset.mode = s.mode;
  write("campaign", s.mode === "falling" ? "" : (model.campaign?.name ?? "")); // nothing lies over the packets
  write("title", s.title ? i18n.t(s.title, s.values) : "");
  write("hint", s.hint ? i18n.t(s.hint, s.values) : "");
  const big = s.big === undefined ? "" : i18n.has(s.big) ? i18n.t(s.big) : s.big;
  if (write("big", big)) pop($("big"), big);
  for (const name of ["stock", "won", "online"]) write(name, model[name]?.toLocaleString("en") ?? "–");
  $("banner").hidden = !model.away;
  write("banner", i18n.t("reconnecting"));
  timer = setTimeout(render, phase === "countdown" ? Math.min(250, Math.max(4, (model.rain.starts_at - t) % 1000) + 1) : 250);
}

function write(id, text) {
  const el = $(id);
  if (el.textContent === text) return false;
  el.textContent = text;
  return true;
}

function pop(el, text) {
  el.classList.toggle("long", text.length > 3);
  el.classList.remove("pop");
  void el.offsetWidth;
  el.classList.add("pop");
}

function showWinners() {
  $("winners").replaceChildren(...model.winners.map((w) => {
    const li = document.createElement("li");
    const [name, amount] = [document.createElement("span"), document.createElement("b")];
    name.textContent = w.user;
    amount.textContent = `¥${yuan(w.amount)}`;
    li.append(name, amount);
    return li;
  }));
}

function watch(campaign) {
  client = new RainClient({ token: () => session.token(), campaign });
  const on = (type, fn) => client.on(type, (m) => (fn(m), render()));
  on("welcome", (m) => {
    if (model.campaign?.id !== m.campaign.id) Object.assign(model, { stock: null, won: null, winners: [] });
    Object.assign(model, { problem: null, campaign: m.campaign, rain: m.rain, away: false });
    showWinners();
  });
  on("rain", (m) => (model.rain = m.rain));
  on("wave", (m) => {
    scene.sky.add(m);
    scene.wake();
  });
  on("room", (m) => {
    Object.assign(model, { online: m.online, stock: m.stock, won: m.won });
    model.winners = mergeNewest(model.winners, m.winners ?? [], WINNERS);
    showWinners();
  });
  on("state", ({ state, code }) => {
    model.away = state === "waiting" || state === "ended";
    if (state !== "ended") return;
    model.problem = { title: "ended_other", hint: code >= 400 && code < 500 ? "signin_hint" : "ended_other_hint", values: { code } };
    if (code === CloseCode.badToken && session.guest) session.forget();
    setTimeout(() => client.connect(), AGAIN);
  });
  client.connect();
}

// follow shows whatever campaign is on now.
async function follow() {
  for (;;) {
    try {
      const campaign = await lobby.current();
      if (campaign && client) client.join(campaign);
      else if (campaign) watch(campaign);
      else if (!client) model.problem = { title: "lobby_title", hint: "lobby_hint" };
    } catch {
      model.away = true;
    }
    render();
    await lobby.soon(3_000);
  }
}

const campaign = lobby.named();
$("join").textContent = `${location.host}${campaign ? `/?campaign=${campaign}` : ""}`;
i18n.apply();
render();
if (campaign) watch(campaign);
else follow();
