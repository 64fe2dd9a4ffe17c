// Lag and rate of groups over the last minutes, as lines of some pixels. The page keeps what it asks for anyway.
import { draw, make, say } from "./dom.js";

const KEPT_NS = 120e9;
const LEAST_NS = 1e9; // between two samples
const LEAST_SPAN_NS = 10e9; // the width of the line stands for at least so long
const RATE_NS = 10e9; // a rate is that of the last so many ns: consumers commit every few seconds
const [WIDE, HIGH] = [48, 16];

const samples = new Map(); // by group: the oldest first

// Each group's committed offsets and lag at a time `t` (ns of the run). Groups that are not among `lags` are forgotten.
export function sample(t, lags) {
  for (const name of samples.keys()) if (!lags.has(name)) samples.delete(name);
  for (const [name, found] of lags) {
    const before = samples.get(name) ?? [];
    const last = before[before.length - 1];
    if (last && t < last.t) before.length = 0; // the cluster was reset
    if (!found || (before.length && t - last.t < LEAST_NS)) continue;
    const committed = new Map(found.partitions.filter((each) => each.committed != null).map((each) => [`${each.topic}/${each.partition}`, each.committed]));
    before.push({ t, lag: found.lag, committed, rate: null });
    before[before.length - 1].rate = rate(before);
    while (before[0].t < t - KEPT_NS) before.shift();
    samples.set(name, before);
  }
}

// Committed records per second. A partition counts from its first commit on; an offset that was set back counts nothing.
function rate(all) {
  const now = all[all.length - 1];
  const then = all.find((each) => each.t >= now.t - RATE_NS);
  if (then === now) return null;
  let records = 0;
  for (const [key, offset] of now.committed) records += Math.max(0, offset - (then.committed.get(key) ?? offset));
  return records / ((now.t - then.t) / 1e9);
}

const short = (value) => (value == null ? "-" : value >= 100 || Number.isInteger(value) ? String(Math.round(value)) : value.toFixed(1));

export function showTrend(cell, group, what) {
  const all = samples.get(group) ?? [];
  const values = all.map((each) => each[what]);
  const known = values.filter((value) => value != null);
  const now = values[values.length - 1];
  if (!cell.firstChild) {
    const picture = draw("svg", { width: WIDE, height: HIGH, viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", class: "trend" });
    picture.append(draw("path", { class: "line" }), draw("circle", { r: 1.8 }));
    cell.append(picture, make("span"));
  }
  const [picture, text] = cell.children;
  say(text, short(now));
  picture.toggleAttribute("hidden", known.length < 2);
  if (known.length < 2) return;
  const most = Math.max(...known);
  const since = (all[all.length - 1].t - all[0].t) / 1e9;
  picture.setAttribute("aria-label", `${what} in the last ${since.toFixed(0)} s: ${short(Math.min(...known))} to ${short(most)}`);
  const span = Math.max(LEAST_SPAN_NS, all[all.length - 1].t - all[0].t);
  const x = ({ t }) => WIDE - 3 - ((all[all.length - 1].t - t) / span) * (WIDE - 5);
  const y = (value) => HIGH - 2 - (value / (most || 1)) * (HIGH - 4);
  let pen = "M";
  const points = all.map((each, place) => {
    if (values[place] == null) {
      pen = "M"; // unknown: the line has a gap
      return "";
    }
    const point = `${pen}${x(each).toFixed(1)} ${y(values[place]).toFixed(1)}`;
    pen = "L";
    return point;
  });
  picture.firstChild.setAttribute("d", points.join(""));
  picture.lastChild.setAttribute("cx", WIDE - 3);
  picture.lastChild.setAttribute("cy", y(now ?? 0));
  picture.lastChild.toggleAttribute("hidden", now == null);
}
