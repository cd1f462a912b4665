// The operator's console.

import "./console.css";

import { takeToken } from "../shared/session.ts";
import { yuan } from "../shared/money.ts";
import { view } from "./campaign.js";
import { create, deposit } from "./create.js";
import { badge, button, h, toast } from "./dom.js";
import { api, attempt, signedIn, signIn, whenRefused } from "./store.js";

const LIST_EVERY = 5_000; // ms between two looks at the list
const app = document.getElementById("app");
const signout = document.getElementById("signout");

let list = null; // the element of the campaigns' list
let chosen = null; // the campaign that is shown: {id, stop}

function showSignIn(fault = "") {
  leave();
  list = null;
  signout.hidden = true;
  const input = h("input", { name: "token", type: "password", autocomplete: "current-password", required: true });
  const form = h("form", { onsubmit: (e) => (e.preventDefault(), enter(input.value.trim())) },
    h("input", { type: "text", name: "username", value: "redrain", autocomplete: "username", hidden: true }), // for password managers
    h("label", {}, "Operator or viewer token", input), h("p", { className: "stale", role: "alert" }, fault),
    h("button", { className: "button main" }, "Sign in"));
  app.replaceChildren(h("section", { className: "panel signin" }, h("h1", {}, "Sign in"),
    h("p", { className: "soft" }, "redrain prints the token at start, unless you have set one."), form));
  input.focus();
}

async function enter(token) {
  signIn(token);
  try {
    await api("/campaigns?limit=1");
  } catch (fault) {
    if (fault.status !== 401) showSignIn(fault.message);
    return;
  }
  showConsole();
}

function showConsole() {
  signout.hidden = false;
  list = h("ul", { className: "list" });
  const rest = h("main", { id: "detail" }, h("section", { className: "panel" }, h("p", { className: "soft" }, "Choose a campaign, or make one.")));
  app.replaceChildren(h("div", { className: "frame" },
    h("aside", { className: "panel" }, h("header", {}, h("h2", {}, "Campaigns")),
      h("div", { className: "row" }, button("New…", make, "main"), button("Deposit…", () => deposit())), list), rest));
  refreshList(true);
}

async function make() {
  const c = await create();
  if (!c) return;
  toast(`“${c.name}” is funded and stocked.`);
  await refreshList();
  open(c);
}

async function refreshList(openFirst = false) {
  const page = await attempt(() => api("/campaigns?limit=100"));
  if (!page || !list) return;
  list.replaceChildren(...page.items.map((c) => h("li", {},
    h("button", { type: "button", "aria-current": String(c.id === chosen?.id), onclick: () => open(c) },
      h("span", { className: "name" }, c.name, badge(c.state)),
      h("span", { className: "soft" }, `¥${yuan(c.budget)} · ${c.packets} packets · ${c.sponsor}`)))));
  if (openFirst && page.items.length > 0) open(page.items[0]);
}

function open(c) {
  leave();
  const stop = new AbortController();
  chosen = { id: c.id, stop };
  document.getElementById("detail").replaceChildren(view(c, { signal: stop.signal, changed: refreshList }));
  for (const b of list.querySelectorAll("button")) b.setAttribute("aria-current", "false");
  refreshList();
}

function leave() {
  chosen?.stop.abort();
  chosen = null;
}

whenRefused(() => {
  signIn(null);
  showSignIn("The server does not know this token.");
});
signout.addEventListener("click", () => (signIn(null), showSignIn()));
setInterval(() => list && !document.hidden && refreshList(), LIST_EVERY);

const given = takeToken(new URL(location.href));
if (given) enter(given);
else if (signedIn()) showConsole();
else showSignIn();
