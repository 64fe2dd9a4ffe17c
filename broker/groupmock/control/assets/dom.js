// Elements, always with text, never with markup.
export const find = (id) => document.getElementById(id);

// As `groupmock.text.printable` has it: what would turn or hide the text around it is named instead, as \u202e.
const printable = (text) => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (each) => (each === "\n" ? each : `\\u${each.codePointAt(0).toString(16).padStart(4, "0")}`));

export function make(tag, text, names) {
  const made = document.createElement(tag);
  if (text != null) made.textContent = printable(String(text));
  if (names) made.className = names;
  return made;
}

// An element of SVG.
export function draw(tag, fields, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(fields)) made.setAttribute(name, value);
  if (text != null) made.textContent = text;
  return made;
}

// What says the same already is left alone: nothing is laid out anew, a selection stays.
export function say(element, text) {
  const told = text == null ? "" : printable(String(text));
  if (element.textContent !== told) element.textContent = told;
}

const kept = new WeakMap();

// A child per item, by key: one that stays is the same element, so that focus and choice stay with it.
export function keyed(parent, items, keyOf, build, fill) {
  const before = kept.get(parent) ?? new Map();
  const now = new Map(items.map((item) => [keyOf(item), before.get(keyOf(item)) ?? build(item)]));
  for (const [key, element] of before) if (now.get(key) !== element) element.remove();
  let place = 0;
  for (const item of items) {
    const element = now.get(keyOf(item));
    if (parent.children[place] !== element) parent.insertBefore(element, parent.children[place] ?? null);
    fill(element, item);
    place += 1;
  }
  kept.set(parent, now);
}

// A row whose first cell is the choice of it: a radio button and a name. Arrows move through the choices, Tab leaves them.
export function choice(name, cells, chosen) {
  const row = make("tr");
  const head = make("th");
  head.scope = "row";
  const label = make("label", null, "choice");
  const radio = make("input");
  [radio.type, radio.name] = ["radio", name];
  radio.addEventListener("change", () => chosen(row.item));
  label.append(radio, make("span"));
  head.append(label);
  row.append(head, ...cells.map((names) => make("td", null, names)));
  return Object.assign(row, { radio, label: label.lastChild });
}

export const seconds = (ns) => (ns / 1e9).toFixed(3);

// orders/0-3,7 bills/0: partitions by topic in words.
export function partitions(assignment) {
  return Object.entries(assignment).map(([topic, numbers]) => {
    const spans = [];
    for (const number of [...numbers].sort((one, other) => one - other)) {
      const last = spans[spans.length - 1];
      if (last && last[1] === number - 1) last[1] = number;
      else spans.push([number, number]);
    }
    return `${topic}/${spans.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join(",")}`;
  }).join(" ");
}

// The end of a member id that the story and the log call it by: anna#d7e8.
export function called(member) {
  const id = member.member_id;
  const name = member.group_instance_id || member.client_id;
  const rest = name && id.startsWith(name) ? id.slice(name.length).replace(/^-+/, "") : id;
  return name ? `${name}#${rest.slice(0, 4)}` : id.slice(0, 12);
}
