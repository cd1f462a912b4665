// Words in one language, or in both: a hall often has guests who read only one of the two.

import { createContext } from "preact";
import { useContext } from "preact/hooks";

import { I18n, type Lang, type Values, preferred } from "../shared/i18n.ts";
import { type Key, strings } from "./strings.ts";

const SECOND = 0.56; // size of the second language, in a line with the first: as in screen.css

const HTML_LANG: Record<Lang, string> = { zh: "zh-CN", en: "en" };

/** Words are the texts in the chosen language, and where both are wanted in the second. */
export class Words {
  readonly main: I18n<typeof strings>;
  readonly second: I18n<typeof strings> | null;

  /** @param choice zh, en or both; anything else leaves it to the browser. Of both, Chinese comes first. */
  constructor(choice: string | null) {
    const lang = choice === "zh" || choice === "en" ? choice : choice === "both" ? "zh" : preferred();
    this.main = new I18n(strings, lang);
    this.second = choice === "both" ? new I18n(strings, "en") : null;
  }

  /** htmlLang is the language of the page, for its lang attribute. */
  get htmlLang(): string {
    return HTML_LANG[this.main.lang];
  }

  /** t is a text in the first language. */
  t(key: Key, values?: Values): string {
    return this.main.t(key, values);
  }

  /** wide is how wide a text is, by a measure of one language's, in all languages that are shown. */
  wide(key: Key, measure: (text: string) => number): number {
    return measure(this.main.t(key)) + (this.second ? measure(this.second.t(key)) * SECOND : 0);
  }

  /** of is how a player is shown: by their name, or under a masked id. */
  of(who: { user: string; name?: string }): string {
    return who.name ?? this.name(who.user);
  }

  /** name is how a masked player is shown: guests, who are all called g*1a2b, as such. */
  name(user: string): string {
    const guest = /^g\*(\w+)$/.exec(user);
    return guest ? this.t("guest", { id: guest[1] ?? "" }) : user;
  }
}

export const WordsContext = createContext<Words | null>(null);

/** useWords are the words of the page. */
export function useWords(): Words {
  const words = useContext(WordsContext);
  if (!words) throw new Error("no WordsContext around this component");
  return words;
}

/** T is a text, with the second language under it where both are wanted. */
export function T({ k, v }: { k: Key; v?: Values }) {
  const { main, second } = useWords();
  if (!second) return <>{main.t(k, v)}</>;
  return (
    <span class="both">
      <span lang={HTML_LANG[main.lang]}>{main.t(k, v)}</span>
      <span lang={HTML_LANG[second.lang]} class="second">{second.t(k, v)}</span>
    </span>
  );
}
