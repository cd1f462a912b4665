// The big screen of an event. It joins the room like a player and never taps; nobody touches it, so it comes back from
// everything by itself.

import "./screen.css";

import { h, render } from "preact";

import { isLocal } from "../shared/join.ts";
import { Stage } from "./app.tsx";
import { Feed } from "./feed.ts";
import { Identity } from "./identity.ts";
import { Keeper } from "./keeper.ts";
import { readOptions } from "./options.ts";
import { Wall } from "./wall.ts";
import { Words } from "./words.tsx";

function element<E extends HTMLElement>(id: string, kind: new () => E): E {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`screen.html has no ${kind.name} #${id}`);
  return found;
}

const page = new URL(location.href);
const options = readOptions(page);
const words = new Words(options.lang);
document.documentElement.lang = words.htmlLang;
document.title = words.t("page_title");

const listeners = new Set<() => void>();
const wall = new Wall(element("rain", HTMLCanvasElement), () => feed.now());
const feed: Feed = new Feed({
  fixed: options.campaign,
  local: isLocal(page.hostname),
  identity: new Identity(page),
  wall,
  changed: () => {
    for (const fn of listeners) fn();
  },
  // Only when the server answers: a browser's own page of an error would never come back.
  outdated: () => void fetch(location.href, { method: "HEAD", cache: "no-store" }).then((answer) => answer.ok && location.reload(), () => undefined),
});
const heard = (fn: () => void): (() => void) => {
  listeners.add(fn);
  return () => listeners.delete(fn);
};

render(h(Stage, { feed, wall, words, options, page, heard }), element("stage", HTMLDivElement));
new Keeper(document.body).start();
feed.start();
