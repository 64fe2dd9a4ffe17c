// The outcome of a command, shown beside the control that gave the command. A field whose value was refused is marked and gets the focus.
import { make, say } from "./dom.js";

const PLACES = "form, .tools, td, section";
let shown = null; // the newest message: older ones are taken away, so that each message on the page is about the last command
let made = 0;

// The element for the message of a control. It is there before its text, because screen readers announce changes of existing elements only.
function messageOf(place) {
  const found = [...place.children].find((each) => each.classList.contains("said"));
  if (found) return found;
  const message = make("p", null, "said");
  message.setAttribute("role", "status");
  message.id = `said-${made += 1}`;
  place.append(message);
  return message;
}

export function prepareMessages() {
  for (const place of document.querySelectorAll("main .tools, header .tools, main form")) messageOf(place);
}

function forget() {
  if (!shown) return;
  say(shown.message, "");
  unmark(shown.field);
}

function unmark(field) {
  field?.removeAttribute("aria-invalid");
  field?.removeAttribute("aria-describedby");
}

export function tellBeside(control, text, { wrong = false, field = null } = {}) {
  forget();
  const message = messageOf(control.closest(PLACES));
  message.classList.toggle("wrong", wrong);
  say(message, text);
  shown = { message, field };
  if (!field) return;
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", message.id);
  field.addEventListener("input", () => unmark(field), { once: true });
  field.focus();
}

// The field that a refusal is about: its value is quoted in the sentence, or its name in the API is a word of the sentence. Null if it is
// about none of them, or about several.
export function fieldOf(sentence, fields) {
  const given = fields.filter(({ value }) => value.trim() !== "");
  const quoted = given.filter(({ value }) => sentence.includes(`'${value.trim()}'`) || sentence.includes(`"${value.trim()}"`));
  if (quoted.length === 1) return quoted[0];
  const named = fields.filter(({ dataset, name }) => new RegExp(`\\b(?:${dataset.says ?? name})\\b`).test(sentence));
  return named.length === 1 ? named[0] : null;
}
