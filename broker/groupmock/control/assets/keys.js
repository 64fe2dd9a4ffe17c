// Keys without Ctrl or Alt, and the list of them. They can be switched off (WCAG 2.1.4): who dictates says letters.
import { find, make } from "./dom.js";

export function keys(table) {
  find("key-list").replaceChildren(...table.map(([key, what]) => {
    const pair = make("div");
    const name = make("dt");
    name.append(make("kbd", key));
    pair.append(name, make("dd", what));
    return pair;
  }));
  document.addEventListener("keydown", (event) => {
    const plain = !(event.ctrlKey || event.altKey || event.metaKey);
    const writes = event.target.matches("select, textarea, input:not([type=radio]):not([type=checkbox])");
    const found = table.find(([key]) => key === event.key);
    if (!found || !plain || writes || !find("keys-on").checked || document.querySelector("dialog[open]") || find("all").hidden) return;
    event.preventDefault();
    found[2]();
  });
}
