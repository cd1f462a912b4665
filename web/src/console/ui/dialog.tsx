import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ApiError } from "../api.ts";
import { useAction } from "../hooks.ts";
import { Button } from "./button.tsx";
import { FaultText } from "./fault.tsx";
import { t } from "./strings.ts";

export interface DialogProps {
  title: string;
  /** onClose is called for Esc, for a click outside and for the ✕; the owner then removes the dialog. Without it there is no ✕. */
  onClose?: () => void;
  /** busy: the dialog cannot be closed now. */
  busy?: boolean;
  wide?: boolean;
  children: ComponentChildren;
}

/** Dialog is a modal dialog for as long as it is drawn. Afterwards the focus returns to where it was. */
export function Dialog({ title, onClose, busy = false, wide = false, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const before = document.activeElement;
    const el = ref.current;
    el?.showModal();
    // showModal would focus the ✕, but a person wants the content of the dialog.
    el?.querySelector<HTMLElement>("form input:not([type=hidden]):not([type=radio]), form select, form textarea, form button[type=submit]")?.focus();
    return () => {
      el?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const leave = () => busy || onClose?.();
  return (
    <dialog
      ref={ref} class={wide ? "wide" : ""} aria-labelledby={id}
      onCancel={(e) => (e.preventDefault(), leave())}
      onMouseDown={(e) => e.target === ref.current && leave()}
    >
      <div class="dialog">
        <header>
          <h2 id={id}>{title}</h2>
          {onClose && <Button kind="plain" label={t("close")} disabled={busy} onClick={leave}>✕</Button>}
        </header>
        {children}
      </div>
    </dialog>
  );
}

export interface ConfirmProps {
  title: string;
  /** children say what will happen; where money moves, which. */
  children: ComponentChildren;
  yes: string;
  danger?: boolean;
  /** typed: this text has to be typed first. */
  typed?: string | undefined;
  /** ask: this has to be answered first; run gets the answer. */
  ask?: string | undefined;
  /** wait: the figures of the text are still loading. */
  wait?: boolean;
  /** run does it; key is its Idempotency-Key. The dialog closes when it is done, and shows the fault when it failed. */
  run: (key: string, answer: string) => Promise<void>;
  onClose: () => void;
  explain?: (fault: ApiError) => string | undefined;
}

/** Confirm asks before something is done, does it, and says if it failed. */
export function Confirm({ title, children, yes, danger = false, typed, ask, wait = false, run, onClose, explain }: ConfirmProps) {
  const [said, say] = useState("");
  const action = useAction((key) => run(key, said.trim()));
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  // Enter must not trigger what cannot be undone, so the focus is on Cancel or on the field to type in.
  useEffect(() => {
    const first = typed || ask ? "input" : danger ? ".end button" : "[type=submit]";
    if (!wait) form.current?.querySelector<HTMLElement>(first)?.focus();
  }, [wait, typed, ask]);
  const ready = !wait && (!typed || said.trim() === typed.trim()) && (!ask || said.trim() !== "");
  const submit = async () => {
    if (ready && (await action.run())) onClose();
  };
  return (
    <Dialog title={title} onClose={onClose} busy={action.busy}>
      <form ref={form} onSubmit={(e) => (e.preventDefault(), void submit())}>
        <div class="words">{children}</div>
        {(typed || ask) && (
          <label class="field" for={id}>
            <span>{typed ? <>{t("typeName")} <b class="typed">{typed}</b></> : ask}</span>
            <input id={id} value={said} maxLength={ask ? 60 : undefined} autocomplete="off" spellcheck={false} onInput={(e) => say(e.currentTarget.value)} />
          </label>
        )}
        <FaultText fault={action.fault} explain={explain} />
        <div class="end">
          <Button onClick={onClose} disabled={action.busy}>{t("cancel")}</Button>
          <Button submit kind={danger ? "danger" : "main"} busy={action.busy} disabled={!ready}>{action.busy ? t("working") : yes}</Button>
        </div>
      </form>
    </Dialog>
  );
}
