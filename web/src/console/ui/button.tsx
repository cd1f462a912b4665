import type { ComponentChildren } from "preact";

export interface ButtonProps {
  children: ComponentChildren;
  /** main: the one thing to do here; danger: cannot be undone; plain: no frame; without it an ordinary one. */
  kind?: "main" | "danger" | "plain";
  /** busy: the action is running. */
  busy?: boolean;
  disabled?: boolean;
  submit?: boolean;
  /** label is the accessible name where the children are a sign only. */
  label?: string;
  small?: boolean;
  onClick?: () => void;
}

/** Button is a button. A busy one keeps its place, and the focus, but does nothing. */
export function Button({ children, kind, busy = false, disabled = false, submit = false, label, small = false, onClick }: ButtonProps) {
  return (
    <button
      type={submit ? "submit" : "button"} class={`button ${kind ?? ""} ${small ? "small" : ""}`} disabled={disabled}
      aria-disabled={busy || undefined} aria-busy={busy || undefined} aria-label={label}
      onClick={(e) => (busy ? e.preventDefault() : onClick?.())}
    >
      {children}
    </button>
  );
}
