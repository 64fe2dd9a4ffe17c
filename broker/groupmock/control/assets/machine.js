// The states of a type of group and what may follow (GET /states, the table that the coordinator holds every move against), one of them lit.
import { draw } from "./dom.js";

const [WIDE, HIGH, BOX, TALL] = [440, 222, 168, 36];

// Those that have a next one stand around in their order, clockwise from the left top; the others below.
function places(states) {
  const living = states.filter((each) => each.next.length);
  const ends = states.filter((each) => !each.next.length);
  const found = new Map();
  living.forEach(({ state }, place) => {
    const angle = (-3 / 4 + (2 * place) / living.length) * Math.PI;
    const [across, down] = [Math.cos(angle) * Math.SQRT2, Math.sin(angle) * Math.SQRT2];
    found.set(state, { x: WIDE / 2 + across * (WIDE / 2 - BOX / 2 - 4), y: 88 + down * 48 });
  });
  ends.forEach(({ state }, place) => found.set(state, { x: (WIDE * (place + 1)) / (ends.length + 1), y: HIGH - 22 }));
  return found;
}

// Where the line from a box's middle towards another leaves it.
function edge(from, to, aside) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy);
  const shift = { x: (-dy / length) * aside, y: (dx / length) * aside };
  const part = Math.min((BOX / 2 + 4) / Math.abs(dx || 1e-9), (TALL / 2 + 4) / Math.abs(dy || 1e-9));
  return [
    { x: from.x + shift.x + dx * part, y: from.y + shift.y + dy * part },
    { x: to.x + shift.x - dx * part, y: to.y + shift.y - dy * part },
  ];
}

function marker(name) {
  const made = draw("marker", { id: name, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto-start-reverse" });
  made.append(draw("path", { d: "M0 0 L8 4 L0 8 z", class: name }));
  return made;
}

const words = (found) => (found.length > 1 ? `${found.slice(0, -1).join(", ")} or ${found[found.length - 1]}` : found[0] ?? "nothing");

export function machine(states, now, held) {
  const at = places(states);
  const after = new Map(states.map((each) => [each.state, each.next]));
  const told = now ? `${now} now; next may be ${words(after.get(now) ?? [])}${held ? `; held in ${held}` : ""}` : `States: ${states.map((each) => each.state).join(", ")}`;
  const svg = draw("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": told });
  const defs = draw("defs", {});
  defs.append(marker("arrow"), marker("arrow-lit"));
  svg.append(defs);
  const living = states.filter((each) => each.next.length);
  const everywhere = (end) => !after.get(end).length && living.every((each) => each.next.includes(end));
  // Lit arrows last, so that they lie above.
  const arrows = living.flatMap((each) => each.next.filter((next) => !everywhere(next)).map((next) => [each.state, next]));
  arrows.sort((one, other) => (one[0] === now) - (other[0] === now));
  for (const [from, to] of arrows) {
    const [a, b] = edge(at.get(from), at.get(to), after.get(to).includes(from) ? 6 : 0);
    const lit = from === now ? "arrow-lit" : "arrow";
    svg.append(draw("path", { d: `M${a.x.toFixed(1)} ${a.y.toFixed(1)} L${b.x.toFixed(1)} ${b.y.toFixed(1)}`, class: `move ${lit}`, "marker-end": `url(#${lit})` }));
  }
  for (const { state } of states) {
    const { x, y } = at.get(state);
    const names = ["state-box", state === now ? "lit" : "", state === held ? "held" : "", everywhere(state) ? "end" : ""].filter(Boolean).join(" ");
    const box = draw("g", { class: names, "data-state": state });
    box.append(draw("rect", { x: x - BOX / 2, y: y - TALL / 2, width: BOX, height: TALL, rx: 6 }));
    box.append(draw("text", { x, y: y + 4.5, "text-anchor": "middle" }, state));
    if (state === held) box.append(draw("text", { x, y: y < 88 ? y - TALL / 2 - 5 : y + TALL / 2 + 13, "text-anchor": "middle", class: "hold" }, now === held ? "held here" : "to be held here"));
    svg.append(box);
    if (everywhere(state)) svg.append(draw("text", { x: x + BOX / 2 + 8, y: y + 4, class: "aside" }, "from every state"));
  }
  return svg;
}
