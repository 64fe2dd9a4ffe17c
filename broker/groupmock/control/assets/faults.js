// Fault rules with their counts and near misses, and the form that makes one: GET and POST /faults, GET /grammar, GET /plans.
import { ask } from "./api.js";
import { find, keyed, make, say, seconds } from "./dom.js";
import { fieldOf, tellBeside } from "./messages.js";

export function showFaults(rules, act) {
  find("no-faults").hidden = rules.length > 0;
  keyed(find("fault-rows"), rules, (each) => each.name, () => built(act), (row, rule) => {
    row.rule = rule;
    const [head, fired, matched, holds, near, steer] = row.children;
    say(head.firstChild, rule.name);
    say(head.lastChild, inWords(rule.rule));
    say(fired, rule.fired);
    say(matched, rule.matched);
    say(holds, rule.holding);
    say(near, nearest(rule));
    row.className = rule.fired ? "fired" : "";
    steer.firstChild.disabled = !rule.holding;
    steer.firstChild.setAttribute("aria-label", `Release what ${rule.name} holds`);
    steer.lastChild.setAttribute("aria-label", `Remove ${rule.name}`);
  });
}

function built(act) {
  const row = make("tr");
  const head = make("th");
  head.scope = "row";
  head.append(make("b"), make("div", null, "quiet"));
  const steer = make("td", null, "steer");
  for (const [word, method, end] of [["Release", "POST", "/release"], ["Remove", "DELETE", ""]]) {
    const button = make("button", word);
    button.type = "button";
    button.addEventListener("click", async () => {
      const done = await act(button, method, `/v1/faults/${encodeURIComponent(row.rule.name)}${end}`);
      if (done && method === "DELETE") removed(row.rule.name);
    });
    steer.append(button);
  }
  row.append(head, ...["number", "number", "number", "near"].map((names) => make("td", null, names)), steer);
  return row;
}

// The row and its buttons go with the rule, so that the message and the focus move to the form below the table.
function removed(name) {
  const adding = find("adding").firstElementChild;
  tellBeside(adding, `Removed ${name}.`);
  adding.focus();
}

// delay seconds=2: what it does, to what, how often.
function inWords({ do: { kind, ...more }, when = {}, stage, times }) {
  const told = (fields) => Object.entries(fields).map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`).join(" ");
  return [`${kind} ${told(more)}`.trim(), told(when) || "any call", stage && `at ${stage}`, times && (times === 1 ? "once" : `${times} times`)].filter(Boolean).join(" \u00b7 ");
}

// Lines that were broken for a file are one again.
const paragraphs = (text) => text.replace(/([^\n])\n(?!\n)/g, "$1 ");

function nearest({ spent, fired, near_miss: miss }) {
  if (spent) return "spent: it fired as often as it may";
  if (miss) return `${miss.call} at ${seconds(miss.t)} s: ${miss.failed.join("; ")}`;
  return fired ? "" : "no call came at its stage";
}

// -- the form

let grammar = { kinds: [], apis: [] };
let edited = false;

export async function prepareFaults(act) {
  grammar = await ask("GET", "/v1/grammar");
  find("apis").replaceChildren(...grammar.apis.map((name) => Object.assign(make("option"), { value: name })));
  find("rule-kind").replaceChildren(...grammar.kinds.map(({ name }) => make("option", name)));
  find("rule-kind").value = "error";
  const plans = await ask("GET", "/v1/plans");
  find("plan-name").replaceChildren(...plans.map(({ name }) => make("option", name)));
  const about = () => say(find("plan-about"), paragraphs(plans.find(({ name }) => name === find("plan-name").value)?.about ?? ""));
  find("plan-name").addEventListener("change", about);
  find("rule-kind").addEventListener("change", () => { chosen(); write(); });
  find("rule").addEventListener("input", (event) => (event.target.id === "rule-json" ? (edited = true) : write()));
  find("rule").addEventListener("submit", (event) => { event.preventDefault(); add(act, event.submitter); });
  find("plan").addEventListener("submit", (event) => {
    event.preventDefault();
    act(event.submitter, "POST", `/v1/plan?ready=${encodeURIComponent(find("plan-name").value)}`);
  });
  about();
  chosen();
  write();
}

// A field for everything that the kind may say.
function chosen() {
  const kind = grammar.kinds.find(({ name }) => name === find("rule-kind").value);
  say(find("rule-about"), kind.about);
  find("rule-more").replaceChildren(...kind.fields.map((field) => {
    const label = make("label", `${field.name.replaceAll("_", " ")} `);
    const input = make("input");
    Object.assign(input, { name: field.name, required: field.required, autocomplete: "off", title: field.about });
    if (!field.required) input.placeholder = field.default == null ? "as usual" : String(field.default);
    label.append(input);
    return label;
  }));
}

// "3" is a number and "[1, 2]" a list; what is no JSON is a text.
function value(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function write() {
  edited = false;
  const said = (pairs) => Object.fromEntries(pairs.filter(([, given]) => given !== ""));
  const text = (id) => find(id).value.trim();
  const number = (id) => (text(id) === "" ? "" : Number(text(id)));
  const when = said([["api", text("rule-api")], ["group", text("rule-group")], ["client_id", text("rule-client")], ["nth", number("rule-nth")]]);
  const more = [...find("rule-more").querySelectorAll("input")].filter((input) => input.value.trim() !== "");
  const rule = said([["name", text("rule-name")], ["times", number("rule-times")]]);
  if (Object.keys(when).length) rule.when = when;
  rule.do = { kind: find("rule-kind").value, ...Object.fromEntries(more.map((input) => [input.name, value(input.value.trim())])) };
  find("rule-json").value = JSON.stringify(rule, null, 2);
}

async function add(act, button) {
  if (!edited) write();
  const json = find("rule-json");
  const rule = value(json.value);
  const refused = (sentence) => (edited ? json : fieldOf(sentence, [...find("rule").querySelectorAll("input")]));
  if (await act(button, "POST", "/v1/faults", rule, refused)) find("rule-name").value = "";
}
