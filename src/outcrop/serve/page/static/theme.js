// Light and dark: as the system says, until one is chosen here.

import { fill } from "./dom.js";
import { icon } from "./icons.js";

const KEY = "outcrop.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

/** @returns {"light" | "dark"} */
function current() {
  const chosen = localStorage.getItem(KEY);
  if (chosen === "light" || chosen === "dark") return chosen;
  return system.matches ? "dark" : "light";
}

/** @param {HTMLButtonElement} button */
export function startTheme(button) {
  const show = () => {
    const theme = current();
    document.documentElement.dataset.theme = theme;
    fill(button, icon(theme === "dark" ? "light" : "dark"));
    button.setAttribute("aria-label", `Use the ${theme === "dark" ? "light" : "dark"} theme`);
  };
  button.addEventListener("click", () => {
    localStorage.setItem(KEY, current() === "dark" ? "light" : "dark");
    show();
  });
  system.addEventListener("change", show);
  show();
}
