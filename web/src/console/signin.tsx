import { useEffect, useRef, useState } from "preact/hooks";
import { broughtBy, takeBrought } from "../shared/address.ts";
import { ApiError, whoami } from "./api.ts";
import { texts } from "./i18n.ts";
import { back, inWindow, provider, redirect, usable, type Back, type Provider } from "./oidc.ts";
import { current, enter, keptToken, leave } from "./session.ts";
import { frame } from "./strings/frame.ts";
import { Button, Dialog, Field, faultWords, toast } from "./ui/index.ts";

const t = texts(frame);

// A token in the address is taken out of it at once, before anybody shares the address.
let given = takeBrought("token");
// So is what an identity provider has sent somebody back with.
let came: Promise<Back | undefined> | undefined = back();
came.catch(() => {}); // told by SignIn, which is drawn later
// A link may also be opened in this very tab. Who is signed in stays so where the server does not know its token.
let arrived: ((token: string) => void) | null = null; // of the sign-in, while there is one
addEventListener("hashchange", () => {
  const another = takeBrought("token");
  if (!another) return;
  if (current().is === "out") return arrived ? arrived(another) : void (given = another);
  void tryOut(another).then((cause) => cause && toast(words(cause), "bad"));
});

/** SignIn asks for the token, or tries the one that was given or kept, or that a provider has sent. */
export function SignIn() {
  const [silent, setSilent] = useState(() => Boolean(came ?? given ?? keptToken()));
  const [told, setTold] = useState(false);
  const [fault, setFault] = useState<ApiError | undefined>();
  const [refused, setRefused] = useState("");
  const [accountFault, setAccountFault] = useState<ApiError | undefined>();

  useEffect(() => {
    const attempt = async (candidate: string): Promise<void> => {
      setSilent(true);
      const cause = await tryOut(candidate);
      setFault(cause);
      // A token that could not be tried, because the server was away, is not wrong: it stays in the field.
      setRefused(cause && cause.status !== 401 ? candidate : "");
      setSilent(false);
    };
    arrived = (token) => void attempt(token);
    const answer = came ?? Promise.resolve(undefined);
    came = undefined;
    void answer.then(async (sent) => {
      if (sent === "told") return setTold(true);
      const candidate = given ?? keptToken();
      given = null;
      if (sent) setAccountFault(await tryOut(sent.token));
      else if (candidate) return attempt(candidate);
      setSilent(false);
    }, (cause: unknown) => (setAccountFault(asFault(cause)), setSilent(false)));
    return () => void (arrived = null);
  }, []);

  if (told) return <main id="content" class="signin panel"><p role="status">{t("windowDone")}</p></main>;
  if (silent) return <main id="content" class="signin"><p class="loading soft" role="status">{t("checking")}</p></main>;
  return (
    <main id="content" class="signin panel">
      <h1>{t("signInTitle")}</h1>
      <WithAccount fault={accountFault} begin={redirect} />
      <TokenForm first={refused} fault={fault} />
    </main>
  );
}

/**
 * SignInAgain lies over a page whose token has ended, and only a sign-in or a sign-out takes it away: what was typed below
 * stays. name is whose page it is, where the token was somebody's own.
 */
export function SignInAgain({ name }: { name: string | undefined }) {
  return (
    <Dialog title={t("againTitle")}>
      <p role="alert">{t("signedOut")}</p>
      <p class="soft">{name ? t("againText", { name }) : t("againShared")}</p>
      <WithAccount begin={async (p, signal) => {
        const cause = await tryOut(await inWindow(p, signal));
        if (cause) throw cause;
      }} />
      <TokenForm />
      <Button kind="plain" onClick={leave}>{t("signOut")}</Button>
    </Dialog>
  );
}

/** tryOut signs in with a token, or answers with why not. */
async function tryOut(token: string): Promise<ApiError | undefined> {
  try {
    enter(token, await whoami(token));
    return undefined;
  } catch (cause) {
    return asFault(cause);
  }
}

// words say why a token was not taken.
function words(fault: ApiError): string {
  return fault.status === 401 ? t("wrongToken") : faultWords(fault);
}

function asFault(cause: unknown): ApiError {
  return cause instanceof ApiError ? cause : new ApiError({ code: "page_fault", message: String(cause) });
}

/** WithAccount signs in at the provider that the server names; nothing where it names none. */
function WithAccount({ fault: known, begin }: { fault?: ApiError | undefined; begin: (p: Provider, signal: AbortSignal) => Promise<void> }) {
  const [at, setAt] = useState<Provider | undefined>();
  const [fault, setFault] = useState<ApiError | undefined>(known);
  const running = useRef<AbortController | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    // Where the server does not answer there is nothing to sign in to: the token's form says so when it is sent.
    provider(stop.signal).then(setAt, () => {});
    return () => (stop.abort(), running.current?.abort());
  }, []);
  if (!at) return null;
  const press = () => {
    running.current?.abort(); // a window that was closed tells nobody, so that one may begin again
    const control = (running.current = new AbortController());
    setFault(undefined);
    begin(at, control.signal).catch((cause: unknown) => control.signal.aborted || setFault(asFault(cause)));
  };
  const words = !fault ? "" : t.has(fault.code) ? t(fault.code, { what: fault.message }) : fault.status === 401 || fault.status === 403 ? t("noOperator") : faultWords(fault);
  return (
    <div class="account">
      <Button kind="main" disabled={!usable(at)} onClick={press}>{t("withAccount", { at: new URL(at.issuer).host })}</Button>
      {!usable(at) && <p class="soft">{t(isSecureContext ? "providerAway" : "needsHTTPS")}</p>}
      <p class="faulttext" role="alert">{words}</p>
      <p class="soft or">{t("or")}</p>
    </div>
  );
}

/** TokenForm asks for a token until the server knows it. */
function TokenForm({ first = "", fault: known }: { first?: string; fault?: ApiError | undefined }) {
  const [token, setToken] = useState(first);
  const [busy, setBusy] = useState(false);
  // Kept as the fault, not as its words, so that the words follow the language.
  const [fault, setFault] = useState<ApiError | "empty" | undefined>(known);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (!busy) input.current?.focus();
  }, [busy]);
  async function attempt(): Promise<void> {
    const candidate = broughtBy(token, "token"); // or the whole link, as the server has printed it
    if (!candidate) return setFault("empty");
    setBusy(true);
    const cause = await tryOut(candidate);
    if (!cause) return; // signed in, and this form is gone
    setFault(cause);
    setBusy(false);
  }
  const said = !fault ? "" : fault === "empty" ? t("needToken") : words(fault);
  return (
    <form noValidate onSubmit={(e) => (e.preventDefault(), busy || void attempt())}>
      <input type="text" name="username" value="redrain" autocomplete="username" hidden />
      <Field label={t("token")} hint={t("signInHint")}>
        {(control) => (
          <input {...control} ref={input} name="token" type="password" autocomplete="current-password" spellcheck={false}
            aria-invalid={said ? true : undefined} value={token} onInput={(e) => setToken(e.currentTarget.value)} />
        )}
      </Field>
      <p class="faulttext" role="alert">{said}</p>
      <Button submit kind="main" busy={busy}>{busy ? t("signingIn") : t("signIn")}</Button>
    </form>
  );
}
