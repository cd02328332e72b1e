// Light or dark: the system's choice unless the person made one.
import { Cell } from "./cell";

export const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const STORED = "throughline.theme";
const stored = localStorage.getItem(STORED);

export const theme = new Cell<Theme>(THEMES.find((name) => name === stored) ?? "auto");

function apply(): void {
  const chosen = theme.get();
  if (chosen === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}
theme.watch(apply);
apply();

export function chooseTheme(chosen: Theme): void {
  localStorage.setItem(STORED, chosen);
  theme.set(chosen);
}
