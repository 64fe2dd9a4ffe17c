"use strict";
// Rows on a canvas: only those that are seen, and of each only what falls into the time that is seen.
const Draw = (() => {
  const AXIS = 28;
  const HEIGHTS = { title: 30, state: 24, round: 24, gap: 24, double: 24, events: 24 };
  // Okabe and Ito's colours, which stay apart for every kind of colour blindness; each is used with a shape or a word as well.
  const HUES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a8f2a", "#7a6fb0"];
  const STATES = { Stable: "#009e73", PreparingRebalance: "#e69f00", CompletingRebalance: "#56b4e9", Empty: "#8d8d8d", Dead: "#444444",
    Assigning: "#e69f00", Reconciling: "#56b4e9" };
  const SECOND = 1e9;
  const STEPS = [];
  for (let power = 3; power < 10; power += 1) for (const base of [1, 2, 5]) STEPS.push(base * 10 ** power);
  for (const each of [10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400]) STEPS.push(each * SECOND);

  const step = (span, most) => STEPS.find((each) => span / each <= most) ?? 86400 * SECOND * Math.ceil(span / (86400 * SECOND * most));

  function clock(at, by) {
    if (by >= 10 * SECOND || at >= 600 * SECOND) {
      const all = Math.floor(at / SECOND);
      const two = (number) => String(number).padStart(2, "0");
      const part = by < SECOND ? ((at % SECOND) / SECOND).toFixed(3).replace(/^0/, "").replace(/\.?0+$/, "") : "";
      const [hours, minutes, rest] = [Math.floor(all / 3600), Math.floor(all / 60) % 60, all % 60];
      return hours ? `${hours}:${two(minutes)}:${two(rest)}${part}` : `${minutes}:${two(rest)}${part}`;
    }
    let places = 0;
    while (places < 9 && by % 10 ** (9 - places) !== 0) places += 1;
    return `${(at / SECOND).toFixed(places)} s`;
  }

  function palette(dark) {
    return dark
      ? { ink: "#e8eaed", quiet: "#a7adb5", ground: "#15181c", zebra: "#1b1f24", line: "#363c44", life: "#252b32", bad: "#ff8f6b", good: "#8fc7f0", pin: "#ff9d7a", warn: "#f0c14b", tint: 0.38, busy: "rgba(230,159,0,.14)" }
      : { ink: "#16191d", quiet: "#555b63", ground: "#ffffff", zebra: "#f7f8f9", line: "#d4d8dd", life: "#eceff2", bad: "#b3300a", good: "#005a8d", pin: "#b3300a", warn: "#8a5a00", tint: 0.26, busy: "rgba(230,159,0,.12)" };
  }

  const heightOf = (row, compact) => HEIGHTS[row.kind] ?? (compact ? 24 : row.pinned ? 51 : 36);

  // One frame. `view`: {a, b} in ns; `rows`: visible rows with their `y` and `h`; `top`: how far the list is scrolled.
  function frame(context, { width, height, view, rows, top, dark, compact, hot, cursor, axis = AXIS, same = null }) {
    const ink = palette(dark);
    const scale = width / (view.b - view.a);
    const x = (at) => (at - view.a) * scale;
    const paint = { context, ink, x, width, view, compact, hot, scale, same };
    context.clearRect(0, 0, width, height);
    context.fillStyle = ink.ground;
    context.fillRect(0, 0, width, height);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    const ticks = axis ? ticksOf(view, width) : { by: 1, found: [] };
    context.save();
    context.beginPath();
    context.rect(0, axis, width, height - axis);
    context.clip();
    context.translate(0, axis - top);
    const seen = rows.filter((row) => row.y + row.h > top && row.y < top + height - axis);
    seen.forEach((row) => ground(paint, row, ticks));
    seen.forEach((row) => (PAINT[row.kind] || lane)(paint, row));
    context.restore();
    if (axis) scaleOf(paint, ticks, axis);
    if (cursor != null) {
      context.fillStyle = ink.quiet;
      context.fillRect(Math.round(x(cursor)), axis, 1, height);
    }
  }

  function ticksOf(view, width) {
    const by = step(view.b - view.a, Math.max(2, width / 90));
    const found = [];
    for (let at = Math.max(0, Math.ceil(view.a / by) * by); at <= view.b; at += by) found.push(at);
    return { by, found };
  }

  function scaleOf({ context, ink, x, width }, { by, found }, axis) {
    context.fillStyle = ink.zebra;
    context.fillRect(0, 0, width, axis);
    context.fillStyle = ink.line;
    context.fillRect(0, axis - 1, width, 1);
    context.fillStyle = ink.ink;
    for (const at of found) {
      const place = Math.round(x(at));
      context.fillRect(place, axis - 6, 1, 6);
      const text = clock(at, by);
      const wide = context.measureText(text).width;
      // The first and the last one stay inside; what would touch the edge is moved, not cut.
      context.fillText(text, Math.min(Math.max(2, place - wide / 2), width - wide - 2), axis / 2 - 2);
    }
  }

  function ground(paint, row, ticks) {
    const { context, ink, x, width, view } = paint;
    if (row.kind === "title") {
      context.fillStyle = ink.zebra;
      context.fillRect(0, row.y, width, row.h);
      return;
    }
    if (row.odd) {
      context.fillStyle = ink.zebra;
      context.fillRect(0, row.y, width, row.h);
    }
    context.fillStyle = ink.line;
    for (const at of ticks.found) context.fillRect(Math.round(x(at)), row.y, 1, row.h);
    if (row.kind === "lane") {
      context.fillStyle = ink.busy;
      for (const each of row.group.busy) {
        const until = each.until ?? row.group.source.end;
        if (until < view.a) continue;
        if (each.since > view.b) break;
        context.fillRect(x(each.since), row.y, Math.max(1, x(until) - x(each.since)), row.h);
      }
    }
  }

  // What is in sight of a row, with its left and right edge in the picture; never outside of it by more than a little.
  function* sight(paint, items) {
    const { x, width, view } = paint;
    for (const item of items) {
      if (item.a > view.b) break;
      if (item.b >= view.a) yield [item, Math.max(-8, x(item.a)), Math.min(width + 8, x(item.b))];
    }
  }

  function label({ context }, text, left, right, middle, colour) {
    const from = Math.max(left, 0) + 4;
    const room = right - from - 3;
    if (room < 14) return;
    let shown = text;
    if (context.measureText(shown).width > room) {
      const letters = Math.floor((room / context.measureText(shown).width) * shown.length) - 1;
      if (letters < 2) return;
      shown = `${shown.slice(0, letters)}\u2026`;
    }
    context.fillStyle = colour;
    context.fillText(shown, from, middle);
  }

  function tinted(paint, colour, left, top, wide, high) {
    const { context, ink } = paint;
    context.globalAlpha = ink.tint;
    context.fillStyle = colour;
    context.fillRect(left, top, wide, high);
    context.globalAlpha = 1;
  }

  function outlined({ context, ink }, left, top, wide, high, thick = 2) {
    context.lineWidth = thick;
    context.strokeStyle = ink.ink;
    context.strokeRect(left, top, wide, high);
  }

  function stripes({ context }, left, top, wide, high, colour, crossed) {
    context.save();
    context.beginPath();
    context.rect(left, top, wide, high);
    context.clip();
    context.strokeStyle = colour;
    context.lineWidth = 1.2;
    context.beginPath();
    for (let place = Math.floor(left / 6) * 6 - high; place < left + wide; place += 6) {
      context.moveTo(place, top + high);
      context.lineTo(place + high, top);
      if (crossed) {
        context.moveTo(place, top);
        context.lineTo(place + high, top + high);
      }
    }
    context.stroke();
    context.strokeRect(left + 0.5, top + 0.5, Math.max(0, wide - 1), high - 1);
    context.restore();
  }

  function states(paint, row) {
    for (const [item, left, right] of sight(paint, row.spans)) {
      const colour = STATES[item.it.state] ?? "#8d8d8d";
      const wide = Math.max(1, right - left);
      tinted(paint, colour, left, row.y + 3, wide, row.h - 6);
      paint.context.fillStyle = colour;
      paint.context.fillRect(left, row.y + 3, Math.min(3, wide), row.h - 6);
      paint.context.fillRect(left, row.y + row.h - 5, wide, 2);
      label(paint, `${item.it.state} \u00b7 generation ${item.it.generation}`, left + 2, right, row.y + row.h / 2 - 1, paint.ink.ink);
      if (item === paint.hot) outlined(paint, left, row.y + 3, wide, row.h - 6);
    }
  }

  function rounds(paint, row) {
    const { context, ink } = paint;
    for (const [item, left, right] of sight(paint, row.spans)) {
      const wide = Math.max(2, right - left);
      context.fillStyle = ink.quiet;
      context.fillRect(left, row.y + row.h - 7, wide, 3);
      if (item === paint.hot) outlined(paint, left - 1, row.y + row.h - 9, wide + 2, 7);
    }
    let free = -Infinity;
    for (const [item, left] of sight(paint, row.points)) {
      context.fillStyle = ink.ink;
      context.fillRect(left, row.y + 3, 1, row.h - 6);
      const text = `gen ${item.it.number}`;
      const wide = context.measureText(text).width;
      if (left > free) {
        context.fillStyle = ink.ground;
        context.fillRect(left + 1, row.y + 3, wide + 4, 12);
        context.fillStyle = ink.ink;
        context.fillText(text, left + 3, row.y + 9);
        free = left + wide + 8;
      }
      if (item === paint.hot) outlined(paint, left - 3, row.y + 2, 7, row.h - 4);
    }
  }

  function holes(paint, row, crossed) {
    const { ink } = paint;
    let free = -Infinity;
    let edge = -Infinity;
    for (const [item, left, right] of sight(paint, row.spans)) {
      const wide = Math.max(2, right - left);
      if (left + wide <= edge && item !== paint.hot) continue; // nothing of it would be seen
      stripes(paint, Math.max(left, edge), row.y + 3, Math.max(1, left + wide - Math.max(left, edge)), row.h - 6, ink.bad, crossed);
      edge = Math.max(edge, left + wide);
      const text = `${Rows.count(item.set)}`;
      if (left > free && wide > 18) {
        const room = paint.context.measureText(text).width + 6;
        paint.context.fillStyle = ink.ground;
        paint.context.fillRect(left + 2, row.y + 5, room, row.h - 10);
        paint.context.fillStyle = ink.ink;
        paint.context.fillText(text, left + 5, row.y + row.h / 2);
        free = left + room + 6;
      }
      if (item === paint.hot) outlined(paint, left, row.y + 3, wide, row.h - 6);
    }
  }

  function lane(paint, row) {
    const { context, ink, compact } = paint;
    const marks = compact ? row.y + 7 : row.y + 10;
    const bandTop = compact ? row.y + 12 : row.y + row.h - 18;
    const bandHigh = compact ? 10 : 15;
    for (const [item, left, right] of sight(paint, row.spans)) {
      if (item.kind !== "life") continue;
      context.fillStyle = ink.life;
      context.fillRect(left, row.y + 2, Math.max(1, right - left), row.h - 4);
      context.fillStyle = ink.quiet;
      context.fillRect(left, marks, Math.max(1, right - left), 1);
      if (item === paint.hot) outlined(paint, left, row.y + 2, Math.max(1, right - left), row.h - 4, 1);
    }
    for (const [item, left, right] of sight(paint, row.spans)) if (item.kind === "band") band(paint, item, left, right, bandTop, bandHigh);
    for (const [, left, right] of sight(paint, row.doubles || [])) stripes(paint, left, bandTop, Math.max(2, right - left), bandHigh, ink.bad, true);
    for (const [item, left, right] of sight(paint, row.spans)) if (item.kind === "life") ends(paint, item, left, right, row);
    dots(paint, row, marks);
  }

  function band(paint, item, left, right, top, high) {
    const wide = Math.max(1.5, right - left);
    const colour = HUES[Rows.colour(item.set) % HUES.length];
    paint.context.fillStyle = paint.ink.ground;
    paint.context.fillRect(left, top, wide, high);
    tinted(paint, colour, left, top, wide, high);
    paint.context.fillStyle = colour;
    paint.context.fillRect(left, top, Math.min(3, wide), high);
    paint.context.fillRect(left, top + high - 2, wide, 2);
    if (wide > 30) {
      if (paint.compact) paint.context.font = "9px system-ui, sans-serif";
      label(paint, Rows.held(item.set, 120), left + 1, right, top + high / 2 - (paint.compact ? 0.5 : 0), paint.ink.ink);
      paint.context.font = "11px system-ui, sans-serif";
    }
    if (item === paint.hot || (paint.same != null && item.set === paint.same)) outlined(paint, left, top, wide, high, item === paint.hot ? 2 : 1);
  }

  // A stay begins with a bar and ends with a bar that is crossed.
  function ends(paint, item, left, right, row) {
    const { context, ink } = paint;
    context.fillStyle = ink.ink;
    if (left > -8) context.fillRect(left, row.y + 2, 2, row.h - 4);
    if (item.it.until == null || right >= paint.width + 8) return;
    const [middle, colour] = [row.y + row.h / 2, item.it.cause === "member_left" ? ink.ink : ink.bad];
    context.fillStyle = colour;
    context.fillRect(right - 1, row.y + 2, 2, row.h - 4);
    cross(context, right, middle, 4, colour);
  }

  function cross(context, x, y, size, colour) {
    context.strokeStyle = colour;
    context.lineWidth = 1.8;
    context.beginPath();
    context.moveTo(x - size, y - size);
    context.lineTo(x + size, y + size);
    context.moveTo(x - size, y + size);
    context.lineTo(x + size, y - size);
    context.stroke();
  }

  function dots(paint, row, middle) {
    const last = new Map();
    const pins = [];
    for (const item of row.points) {
      const reach = item.kind === "mark" && item.mark[4] === 1 ? item.mark[5] : 0;
      if (item.a > paint.view.b) break;
      if (Math.max(item.b, item.a + reach) < paint.view.a) continue;
      const left = Math.max(-8, paint.x(item.a));
      if (item.kind !== "mark") {
        pins.push([item, left]);
        continue;
      }
      const key = item.mark[2] * 1e6 + item.mark[3];
      if (item !== paint.hot && left - (last.get(key) ?? -Infinity) < 2 && reach * paint.scale < 3) continue; // nobody could tell them apart
      last.set(key, left);
      mark(paint, item, left, middle);
    }
    const used = new Map();
    for (const [item, left] of pins) {
      const gap = left - (used.get(item.kind) ?? -Infinity);
      if (item !== paint.hot && gap < 3) continue;
      if (item !== paint.hot && gap < 16) {
        speck(paint, item, left, row);
        continue;
      }
      used.set(item.kind, left);
      pin(paint, item, left, row);
    }
  }

  const SHAPES = {
    JoinGroup: (context, x, y, r) => { context.moveTo(x, y - r); context.lineTo(x + r, y + r); context.lineTo(x - r, y + r); context.closePath(); },
    SyncGroup: (context, x, y, r) => { context.rect(x - r * 0.85, y - r * 0.85, r * 1.7, r * 1.7); },
    Heartbeat: (context, x, y, r) => { context.rect(x - 0.75, y - r, 1.5, 2 * r); },
    ConsumerGroupHeartbeat: (context, x, y, r) => { context.rect(x - 0.75, y - r, 1.5, 2 * r); },
    OffsetCommit: (context, x, y, r) => { context.arc(x, y, r * 0.85, 0, 2 * Math.PI); },
    TxnOffsetCommit: (context, x, y, r) => { context.arc(x, y, r * 0.85, 0, 2 * Math.PI); },
    LeaveGroup: (context, x, y, r) => { context.moveTo(x, y + r); context.lineTo(x + r, y - r); context.lineTo(x - r, y - r); context.closePath(); },
  };

  function mark(paint, item, left, middle) {
    const { context, ink, compact, scale } = paint;
    const [, until, api, result, times, latency] = item.mark;
    const text = Rows.data.texts[result];
    const led = Rows.data.expected.includes(text);
    const fine = text === "ok" || led;
    const colour = fine ? ink.good : ink.bad;
    const r = compact ? 3.5 : 5;
    context.fillStyle = colour;
    const right = times > 1 ? paint.x(until) : left + latency * scale;
    const thick = times > 1 ? (compact ? 2 : 3) : 1.5;
    if (right - left > 3) context.fillRect(left, middle - thick / 2, Math.min(right, paint.width + 8) - left, thick);
    context.beginPath();
    SHAPES[Rows.data.apis[api]](context, left, middle, r);
    if (led) {
      context.fillStyle = ink.ground;
      context.strokeStyle = colour;
      context.lineWidth = 1.5;
      context.stroke();
    }
    context.fill();
    if (!fine) cross(context, left, middle, r, ink.ink);
    if (item === paint.hot) outlined(paint, left - r - 2, middle - r - 2, 2 * r + 4, 2 * r + 4);
  }

  const pinAt = (row, compact) => (row.kind !== "lane" ? row.y + row.h / 2 : compact ? row.y + row.h / 2 : row.y + 25);

  // One of many that stand close: a stroke instead of a sign.
  function speck({ context, ink, compact }, item, left, row) {
    context.fillStyle = item.kind === "fault" || item.kind === "finding" ? ink.pin : ink.quiet;
    context.fillRect(left - 0.75, pinAt(row, compact) - 4, 1.5, 8);
  }

  const LETTERS = { fault: "!", command: "C", finding: "F", closed: "\u2298", refused: "\u00d7", says: "i", note: "N" };

  function pin(paint, item, left, row) {
    const { context, ink, compact } = paint;
    if (item.kind === "says" && row.kind === "lane") {
      aside(paint, item, left, row);
      return;
    }
    const [wide, high] = compact ? [11, 11] : [13, 13];
    const middle = pinAt(row, compact);
    const fly = left + wide > paint.width ? -wide : wide; // a flag at the edge flies back
    const strong = item.kind === "finding" ? (item.it.severity === "error" ? ink.pin : ink.warn) : item.kind === "fault" ? ink.pin : ink.ink;
    context.fillStyle = ink.ground;
    context.strokeStyle = strong;
    context.lineWidth = 1.5;
    context.beginPath();
    if (item.kind === "fault") {
      const r = wide / 2 + 2;
      context.moveTo(left, middle - r); context.lineTo(left + r, middle); context.lineTo(left, middle + r); context.lineTo(left - r, middle);
      context.closePath();
    } else if (item.kind === "finding") {
      context.moveTo(left, middle + high / 2 + 3); context.lineTo(left, middle - high / 2); context.lineTo(left + fly, middle - high / 2);
      context.lineTo(left + fly, middle + high / 2 - 2); context.lineTo(left, middle + high / 2 - 2);
    } else context.rect(left - wide / 2, middle - high / 2, wide, high);
    context.fill();
    context.stroke();
    context.fillStyle = strong;
    context.textAlign = "center";
    context.font = `bold ${compact ? 9 : 10}px system-ui, sans-serif`;
    context.fillText(LETTERS[item.kind], item.kind === "finding" ? left + fly / 2 : left, item.kind === "finding" ? middle - 0.5 : middle + 0.5);
    context.textAlign = "left";
    context.font = "11px system-ui, sans-serif";
    if (row.kind !== "lane") eventText(paint, item, left + (item.kind === "finding" ? wide : wide / 2) + 3, row, middle);
    if (item === paint.hot) outlined(paint, left - wide / 2 - 3, middle - high / 2 - 3, wide + 8, high + 6);
  }

  // What a client says of itself is a small triangle below the lane: there may be much of it, and bands keep their words.
  function aside(paint, item, left, row) {
    const { context, ink } = paint;
    context.fillStyle = ink.quiet;
    context.beginPath();
    context.moveTo(left, row.y + row.h - 5);
    context.lineTo(left + 3.5, row.y + row.h);
    context.lineTo(left - 3.5, row.y + row.h);
    context.fill();
    if (item === paint.hot) outlined(paint, left - 5, row.y + row.h - 8, 10, 8);
  }

  // Beside the marks of the group's own row there is room for words, as long as the next one is far.
  function eventText(paint, item, left, row, middle) {
    const next = row.points[row.points.indexOf(item) + 1];
    const right = Math.min(next ? paint.x(next.a) - 10 : paint.width, paint.width);
    label(paint, item.it.title, left - 2, right, middle, paint.ink.ink);
  }

  const PAINT = {
    title: () => {}, state: states, round: rounds, gap: (paint, row) => holes(paint, row, false), double: (paint, row) => holes(paint, row, true),
    events: (paint, row) => dots(paint, row, row.y + row.h / 2),
  };

  // What is at a place of the picture: marks before spans, and of spans the shortest.
  function hit(row, at, scale) {
    const near = 7 / scale;
    let best = null;
    for (const item of row.points) {
      if (item.a > at + near) break;
      if (item.a < at - near && !(item.b > at)) continue;
      const far = Math.abs(item.a - at) - (item.kind === "mark" ? 0 : near);
      if (!best || far < best.far) best = { item, far };
    }
    if (best) return best.item;
    for (const item of row.spans) {
      if (item.a > at + near / 3) break;
      if (item.b < at - near / 3) continue;
      if (!best || item.b - item.a < best.far) best = { item, far: item.b - item.a };
    }
    return best ? best.item : null;
  }

  return { AXIS, HUES, STATES, frame, heightOf, hit, clock, step, palette };
})();
