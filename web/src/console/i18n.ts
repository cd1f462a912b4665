// The console's texts. Each group of files has a table of its own in strings/. All tables speak the same language: App
// switches it and draws the whole page again.

import { I18n, type Lang, type Table, type Values } from "../shared/i18n.ts";
import { count } from "./format.ts";

/** language holds the chosen language; its own table is empty. */
export const language = new I18n({});

/** lang is the current language. */
export function lang(): Lang {
  return language.lang;
}

/** Texts gives the text for a key of a table. Call it while drawing, so that a switch of the language shows. */
export interface Texts<T extends Table> {
  (key: keyof T & string, values?: Values): string;
  /** has reports whether there is such a text, for keys that come from the server (states, splits). */
  has(key: string): key is keyof T & string;
}

/**
 * texts makes the function for a table. In a text {name} is a value (numbers are grouped), and {name|one|many} a word that
 * depends on the number.
 */
export function texts<T extends Table>(table: T): Texts<T> {
  const t = (key: keyof T & string, values: Values = {}) => fill(table[key]?.[language.lang] ?? key, values);
  return Object.assign(t, { has: (key: string): key is keyof T & string => Object.hasOwn(table, key) });
}

/** fill puts values into a text. */
export function fill(text: string, values: Values): string {
  return text.replace(/\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g, (_, name: string, one?: string, many?: string) => {
    const value = values[name];
    if (one !== undefined) return (value === 1 ? one : many) ?? "";
    return typeof value === "number" ? count(value) : (value ?? "");
  });
}
