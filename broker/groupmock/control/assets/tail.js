// The journal's tail: GET /events as lines. So many lines are kept and no more, whatever comes; they are shown a few times a second.
import { Silent, listen, query } from "./api.js";
import { find, make, say, seconds } from "./dom.js";

const KEPT = 500;
const EVERY_MS = 250;

const lines = []; // as they came, the newest last
let fresh = [];
let lost = 0;
let coming = null;
let waiting = false;
let paused = false;

export function pauseTail(wanted) {
  paused = wanted;
  if (!paused) soon();
}

// Listen until the address of what is wanted changes; after an end of the stream, again.
export function follow(group, wrong) {
  const every = find("tail-form").value === "lines";
  find("tail-more").hidden = !every;
  const more = every ? { kind: find("tail-kind").value, api: find("tail-api").value, client_id: find("tail-client").value, error: find("tail-error").value } : {};
  const path = `/v1/events${query({ form: find("tail-form").value, last: every ? KEPT : 5000, group: find("tail-group").value && (group ?? ""), ...more })}`;
  if (coming?.path === path && !coming.over) return;
  coming?.stop.abort();
  coming = { path, stop: new AbortController(), over: false };
  lasting(coming, wrong);
}

async function lasting(mine, wrong) {
  try {
    await listen(mine.path, (name, data) => mine === coming && heard(name, data), mine.stop.signal);
  } catch (error) {
    if (mine === coming && !(error instanceof Silent)) wrong(error);
  }
  mine.over = true;
}

function heard(name, data) {
  if (name === "begin") {
    lines.length = 0;
    fresh = [];
    lost = 0;
    find("tail").replaceChildren();
  } else if (name === "lost") lost += data.rows;
  else if (name === "line") {
    fresh.push(data);
    if (fresh.length > KEPT) fresh.shift();
  }
  soon();
}

function soon() {
  if (waiting || paused) return;
  waiting = true;
  setTimeout(() => {
    waiting = false;
    if (!paused) show();
  }, EVERY_MS);
}

const words = () => find("tail-words").value.toLowerCase().split(/\s+/).filter(Boolean);
const fits = (line, wanted) => wanted.every((word) => `${line.kind} ${line.group ?? ""} ${line.text}`.toLowerCase().includes(word));

function show() {
  const list = find("tail");
  const end = list.scrollTop + list.clientHeight >= list.scrollHeight - 4;
  const wanted = words();
  const added = fresh.filter((line) => fits(line, wanted)).map(shown);
  lines.push(...fresh);
  lines.splice(0, Math.max(0, lines.length - KEPT));
  fresh = [];
  list.append(...added);
  while (list.children.length > KEPT) list.firstChild.remove();
  if (end) list.scrollTop = list.scrollHeight;
  told(list);
}

export function filterTail() {
  const wanted = words();
  const list = find("tail");
  list.replaceChildren(...lines.filter((line) => fits(line, wanted)).map(shown));
  list.scrollTop = list.scrollHeight;
  told(list);
}

function told(list) {
  const missed = lost ? `; ${lost} rows came too fast for this page` : "";
  say(find("tail-count"), `${list.children.length} lines${missed}`);
}

function shown(line) {
  const made = make("li", null, line.level);
  made.append(make("span", seconds(line.t), "at"), make("span", line.level === "debug" || line.level === "info" ? "" : line.level, "level"), make("span", line.text, "text"));
  return made;
}
