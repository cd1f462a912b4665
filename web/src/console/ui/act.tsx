import { useId } from "preact/hooks";
import { texts } from "../i18n.ts";
import { may, mayAct, type Right } from "../session.ts";
import { people } from "../strings/people.ts";
import { Button, type ButtonProps } from "./button.tsx";
import { toast } from "./toasts.tsx";

const t = texts(people);

export interface ActProps extends Omit<ButtonProps, "submit"> {
  /** needs is the right that the act takes. */
  needs: Right;
  /** href: the act begins on another page. */
  href?: string;
}

/**
 * Act is a button for who has the right to it. For others who may change something else it says what right it takes. Who
 * may change nothing sees none: the header says why.
 */
export function Act({ needs, href, ...button }: ActProps) {
  const id = useId();
  if (may(needs)) {
    if (href === undefined) return <Button {...button} />;
    return <a class={`button ${button.kind ?? ""} ${button.small ? "small" : ""}`} href={href}>{button.children}</a>;
  }
  if (!mayAct()) return null;
  const why = t(`needs_${needs}`);
  return (
    <span class="denied" title={why}>
      <button type="button" class={`button ${button.kind ?? ""} ${button.small ? "small" : ""}`} aria-disabled aria-label={button.label} aria-describedby={id} onClick={() => toast(why, "bad")}>
        {button.children}
      </button>
      <span id={id} hidden>{why}</span>
    </span>
  );
}
