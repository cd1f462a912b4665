import { useEffect, useRef, useState } from "preact/hooks";
import { takeToken } from "../shared/session.ts";
import { ApiError, whoami } from "./api.ts";
import { texts } from "./i18n.ts";
import { enter, keptToken, leave } from "./session.ts";
import { frame } from "./strings/frame.ts";
import { Button, Field, faultWords } from "./ui/index.ts";

const t = texts(frame);

// A token in the address is taken out of it at once, before anybody shares the address.
let given = takeToken(new URL(location.href));
addEventListener("hashchange", () => {
  const another = takeToken(new URL(location.href));
  if (another) (given = another), leave();
});

/** SignIn asks for the token, or tries the one that was given or kept. */
export function SignIn({ refused }: { refused: boolean }) {
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);
  const [silent, setSilent] = useState(() => Boolean(given ?? keptToken()));
  // Kept as the fault, not as its words, so that the words follow the language.
  const [fault, setFault] = useState<ApiError | "empty" | undefined>();
  const input = useRef<HTMLInputElement>(null);

  async function attempt(candidate: string, fromForm: boolean): Promise<void> {
    if (!candidate) return setFault("empty");
    setBusy(true);
    setFault(undefined);
    try {
      enter(candidate, await whoami(candidate));
      return;
    } catch (cause) {
      setFault(cause instanceof ApiError ? cause : new ApiError({ code: "page_fault", message: String(cause) }));
      // A token that could not be tried, because the server was away, is not wrong: it stays in the field.
      if (!fromForm && !(cause instanceof ApiError && cause.status === 401)) setToken(candidate);
    }
    setBusy(false);
    setSilent(false);
  }

  useEffect(() => {
    const candidate = given ?? keptToken();
    given = null;
    if (candidate) void attempt(candidate, false);
  }, []);
  useEffect(() => {
    if (!busy && !silent) input.current?.focus();
  }, [busy, silent]);

  if (silent) return <main id="content" class="signin"><p class="loading soft" role="status">{t("checking")}</p></main>;
  const words = fault === "empty" ? t("needToken") : !fault ? (refused ? t("signedOut") : "")
    : fault.status === 401 ? t("wrongToken") : faultWords(fault);
  return (
    <main id="content" class="signin panel">
      <h1>{t("signInTitle")}</h1>
      <form noValidate onSubmit={(e) => (e.preventDefault(), busy || void attempt(token.trim(), true))}>
        <input type="text" name="username" value="redrain" autocomplete="username" hidden />
        <Field label={t("token")} hint={t("signInHint")}>
          {(control) => (
            <input {...control} ref={input} name="token" type="password" autocomplete="current-password" spellcheck={false}
              aria-invalid={words ? true : undefined} value={token} onInput={(e) => setToken(e.currentTarget.value)} />
          )}
        </Field>
        <p class="faulttext" role="alert">{words}</p>
        <Button submit kind="main" busy={busy}>{busy ? t("signingIn") : t("signIn")}</Button>
      </form>
    </main>
  );
}
