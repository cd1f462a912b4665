// Short messages under the head of the page: what was done, and what failed outside of a dialog.

import { useEffect, useState } from "preact/hooks";
import { Button } from "./button.tsx";
import { t } from "./strings.ts";

interface Toast {
  id: number;
  text: string;
  bad: boolean;
}

const STAYS = 6_000; // ms; a bad one stays until it is dismissed
let list: Toast[] = [];
let next = 0;
let redraw = () => {};

/** toast shows a message. A bad one is announced by screen readers at once, and stays. */
export function toast(text: string, kind: "good" | "bad" = "good"): void {
  list = [...list.slice(-4), { id: next++, text, bad: kind === "bad" }];
  redraw();
}

function drop(id: number): void {
  list = list.filter((one) => one.id !== id);
  redraw();
}

/** Toasts shows the messages. The page has one of it. */
export function Toasts() {
  const [, set] = useState({});
  useEffect(() => {
    redraw = () => set({});
    redraw(); // for messages since the last drawing
    return () => void (redraw = () => {});
  }, []);
  const one = (x: Toast) => <OneToast key={x.id} toast={x} />;
  return (
    <div class="toasts">
      <div role="status">{list.filter((x) => !x.bad).map(one)}</div>
      <div role="alert">{list.filter((x) => x.bad).map(one)}</div>
    </div>
  );
}

function OneToast({ toast: { id, text, bad } }: { toast: Toast }) {
  useEffect(() => {
    if (bad) return;
    const timer = setTimeout(() => drop(id), STAYS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class={`toast ${bad ? "bad" : ""}`}>
      <span>{text}</span>
      <Button kind="plain" small label={t("dismiss")} onClick={() => drop(id)}>✕</Button>
    </div>
  );
}
