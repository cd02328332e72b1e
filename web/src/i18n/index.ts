// The page's language: chosen by the person, else the browser's. Words are looked up by key; the compiler knows them all.
import { Cell, useCell } from "../ui/cell";
import { en, type Catalogue, type Key } from "./en";
import { zh } from "./zh";

export type Language = "en" | "zh";
export type { Key } from "./en";

const catalogues: Record<Language, Catalogue> = { en, zh };
const STORED = "throughline.language";

function initial(): Language {
  const stored = localStorage.getItem(STORED);
  if (stored === "en" || stored === "zh") return stored;
  return navigator.languages.some((name) => name.toLowerCase().startsWith("zh")) ? "zh" : "en";
}

export const language = new Cell<Language>(initial());

function announce(): void {
  document.documentElement.lang = language.get() === "zh" ? "zh-Hans" : "en";
}
language.watch(announce);
announce();

export function chooseLanguage(chosen: Language): void {
  localStorage.setItem(STORED, chosen);
  language.set(chosen);
}

export type Values = Record<string, string | number>;
export type Say = (key: Key, values?: Values) => string;

export function say(key: Key, values?: Values): string {
  const text = catalogues[language.get()][key];
  return values ? text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole)) : text;
}

/** The words, again whenever the language changes. */
export function useSay(): Say {
  useCell(language);
  return say;
}

/** `known.key` if the catalogue has it, else the fallback: a newer daemon may say a word that this page does not know. */
export function keyOr(key: string, fallback: Key): Key {
  return key in en ? (key as Key) : fallback;
}
