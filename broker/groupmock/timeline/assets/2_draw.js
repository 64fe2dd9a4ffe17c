"use strict";
// Rows of signs, drawn with a pen: on a canvas, or as the elements of an SVG document. Only rows and items that are seen are drawn.
const Draw = (() => {
  const AXIS = 28;
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

  // -- pens

  const MOST_STAMPS = 4000;
  const AROUND = { left: -11, top: -11, wide: 22, high: 22 }; // the box of a glyph around its point
  const RECTANGLE = /^M-([\d.]+)-([\d.]+)H[\d.]+V[\d.]+H-[\d.]+Z$/;
  const FONT = "11px system-ui, sans-serif";
  const fontOf = (bold, size = 11) => `${bold ? "bold " : ""}${size}px system-ui, sans-serif`;
  const paths = new Map();
  const pathOf = (text) => paths.get(text) ?? paths.set(text, new Path2D(text)).get(text);
  const ruler = document.createElement("canvas").getContext("2d");
  const widths = new Map(); // of texts, which are measured again and again
  function widthOf(text, font = FONT) {
    const key = `${font}\n${text}`;
    let wide = widths.get(key);
    if (wide === undefined) {
      if (widths.size > 20000) widths.clear();
      ruler.font = font;
      widths.set(key, (wide = ruler.measureText(text).width));
    }
    return wide;
  }

  function shortened(text, most, size = 11) {
    let shown = text;
    while (widthOf(shown, fontOf(false, size)) > most) shown = `${shown.slice(0, -2)}\u2026`;
    return shown;
  }

  // `colours` maps the roles of colours to colours (the variables of the page's style).
  class CanvasPen {
    constructor(context, scene, colours) {
      [this.context, this.colours, this.fills, this.stamps] = [context, colours, {}, new Map()];
      this.dense = context.getTransform().a;
      context.textBaseline = "middle";
      for (const [name, [path, role]] of Object.entries(scene.patterns)) {
        const tile = document.createElement("canvas");
        tile.width = tile.height = 4 * scene.tile;
        const pen = tile.getContext("2d");
        pen.scale(4, 4);
        pen.strokeStyle = colours[role];
        pen.stroke(pathOf(path));
        this.fills[name] = context.createPattern(tile, "repeat");
        this.fills[name].setTransform(new DOMMatrix().scale(0.25));
      }
    }

    colour(role) { return this.fills[role] ?? this.colours[role] ?? (role || "transparent"); }

    rect(x, y, wide, high, fill, alpha = 1) {
      this.context.globalAlpha = alpha;
      this.context.fillStyle = this.colour(fill);
      this.context.fillRect(x, y, wide, high);
      this.context.globalAlpha = 1;
    }

    edge(x, y, wide, high, stroke, thick = 1) {
      this.context.strokeStyle = this.colour(stroke);
      this.context.lineWidth = thick;
      this.context.strokeRect(x, y, wide, high);
    }

    glyph(path, x, y, scale, fill, stroke) {
      const { context } = this;
      context.save();
      context.translate(x, y);
      context.scale(scale, scale);
      if (fill) {
        context.fillStyle = this.colour(fill);
        context.fill(pathOf(path));
      }
      if (stroke) {
        context.strokeStyle = this.colour(stroke);
        context.lineWidth = 1.5;
        context.stroke(pathOf(path));
      }
      context.restore();
    }

    // Many equal glyphs are drawn as rectangles or as bitmaps, which is faster than to fill a path of thousands of them.
    many(path, places, scale, fill) {
      const [, half, up] = RECTANGLE.exec(path) ?? [];
      if (half) for (const [x, y] of places) this.rect(x - half * scale, y - up * scale, 2 * half * scale, 2 * up * scale, fill);
      else for (const [x, y] of places) this.stamp(`${path} ${scale} ${fill}`, x, y, AROUND, (on) => on.glyph(path, 0, 0, scale, fill));
    }

    // What is drawn again and again is kept as a small bitmap: thousands of marks are in one frame.
    stamp(key, x, y, { left, top, wide, high }, draw) {
      let made = this.stamps.get(key);
      if (!made) {
        if (this.stamps.size > MOST_STAMPS) this.stamps.clear();
        const canvas = new OffscreenCanvas(Math.ceil(wide * this.dense), Math.ceil(high * this.dense));
        const on = canvas.getContext("2d");
        on.scale(this.dense, this.dense);
        on.translate(-left, -top);
        on.textBaseline = "middle";
        draw(Object.assign(Object.create(CanvasPen.prototype), this, { context: on }));
        made = canvas.transferToImageBitmap();
        this.stamps.set(key, made);
      }
      const whole = (place) => Math.round(place * this.dense) / this.dense;
      this.context.drawImage(made, whole(x + left), whole(y + top), made.width / this.dense, made.height / this.dense);
    }

    // A text with a halo, which is readable over everything.
    label(text, x, y, size) {
      const box = { left: -2, top: -size / 2 - 3, wide: widthOf(text, fontOf(false, size)) + 5, high: size + 6 };
      this.stamp(`${size} ${text}`, x, y, box, (pen) => pen.text(text, 0, 0, { halo: true, size }));
    }

    text(text, x, y, { fill = "ink", halo = false, anchor = "start", bold = false, size = 11 } = {}) {
      const { context } = this;
      context.font = fontOf(bold, size);
      context.textAlign = anchor === "middle" ? "center" : anchor;
      if (halo) {
        context.strokeStyle = this.colour("ground");
        context.lineWidth = 3;
        context.lineJoin = "round";
        context.strokeText(text, x, y);
      }
      context.fillStyle = this.colour(fill);
      context.fillText(text, x, y);
    }

    within(x, y, wide, high, draw) {
      this.context.save();
      this.context.beginPath();
      this.context.rect(x, y, wide, high);
      this.context.clip();
      draw();
      this.context.restore();
    }
  }

  class SvgPen {
    constructor(scene, colours, wide, high) {
      [this.colours, this.patterns, this.clips] = [colours, scene.patterns, 0];
      this.svg = SvgPen.make("svg", { width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, "font-family": "system-ui, sans-serif" });
      this.into = this.svg;
      const defs = this.add("defs", {});
      for (const [name, [path, role]] of Object.entries(scene.patterns)) {
        const tile = SvgPen.make("pattern", { id: name, width: scene.tile, height: scene.tile, patternUnits: "userSpaceOnUse" });
        tile.append(SvgPen.make("path", { d: path, stroke: colours[role] }));
        defs.append(tile);
      }
    }

    static make(tag, given) {
      const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(given)) made.setAttribute(name, typeof value === "number" ? +value.toFixed(2) : value);
      return made;
    }

    add(tag, given) {
      const made = SvgPen.make(tag, given);
      this.into.append(made);
      return made;
    }

    colour(role) { return this.patterns[role] ? `url(#${role})` : this.colours[role] ?? (role || "none"); }

    rect(x, y, width, height, fill, alpha = 1) { this.add("rect", { x, y, width, height, fill: this.colour(fill), "fill-opacity": alpha }); }

    edge(x, y, width, height, stroke, thick = 1) { this.add("rect", { x, y, width, height, fill: "none", stroke: this.colour(stroke), "stroke-width": thick }); }

    glyph(d, x, y, scale, fill, stroke) {
      this.add("path", { d, transform: `translate(${x.toFixed(2)} ${y.toFixed(2)}) scale(${scale.toFixed(3)})`, fill: this.colour(fill), stroke: this.colour(stroke), "stroke-width": 1.5 });
    }

    stamp(key, x, y, box, draw) {
      const outer = this.into;
      this.into = this.add("g", { transform: `translate(${x.toFixed(2)} ${y.toFixed(2)})` });
      draw(this);
      this.into = outer;
    }

    many(path, places, scale, fill) { for (const [x, y] of places) this.glyph(path, x, y, scale, fill); }

    label(text, x, y, size) { this.text(text, x, y, { halo: true, size }); }

    text(text, x, y, { fill = "ink", halo = false, anchor = "start", bold = false, size = 11 } = {}) {
      const around = halo ? { "paint-order": "stroke", stroke: this.colour("ground"), "stroke-width": 3 } : {};
      const given = { x, y, fill: this.colour(fill), "text-anchor": anchor, "font-size": size, "font-weight": bold ? "bold" : "normal", "dominant-baseline": "central" };
      this.add("text", { ...given, ...around }).textContent = text;
    }

    within(x, y, width, height, draw) {
      const id = `clip${(this.clips += 1)}`;
      this.add("clipPath", { id }).append(SvgPen.make("rect", { x, y, width, height }));
      const outer = this.into;
      this.into = this.add("g", { "clip-path": `url(#${id})` });
      draw();
      this.into = outer;
    }
  }

  // -- where items are. `at` maps a time to a place: {view, width, low}

  const heightOf = (row, low) => (low ? row.low : row.high);
  const scaleOf = ({ view, width }) => width / (view.b - view.a);

  // The box of an item: {x, right, top, high}, x being the place of a point.
  function boxOf(item, at) {
    const [top, high] = at.low ? item.sign.low ?? item.sign.box : item.sign.box;
    const from = top >= 0 ? top : item.row.h + top;
    const scale = scaleOf(at);
    const x = (item.a - at.view.a) * scale;
    const right = (item.end - at.view.a) * scale;
    return { x, right, top: item.row.y + from, high: high > 0 ? high : item.row.h + high - from };
  }

  // The items of a layer that reach into a span of time, in the order of time.
  function* between(layer, from, to) {
    let [low, high] = [0, layer.length];
    const first = from - layer.longest;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (layer[middle].a < first) low = middle + 1;
      else high = middle;
    }
    for (; low < layer.length && layer[low].a <= to; low += 1) if (layer[low].end >= from) yield layer[low];
  }

  const NEAR = 7; // pixels around a point that are the point's
  const THIN = 2; // pixels: what is nearer than that to the last of its sign could not be told from it
  const EDGE = 12; // pixels beyond the picture's edge in which the middle of a glyph may be

  // What is under a place of the picture: of the topmost layer, of points the nearest, of spans the shortest.
  function hit(row, px, py, at) {
    const scale = scaleOf(at);
    const time = at.view.a + px / scale;
    for (const layer of [...row.layers].reverse()) {
      let best = null;
      for (const item of between(layer, time - NEAR / scale, time + NEAR / scale)) {
        const box = boxOf(item, at);
        if (py < box.top - 1 || py > box.top + box.high + 1) continue;
        const near = Math.abs(box.x - px);
        const inside = px >= box.x - 2 && px <= Math.max(box.right, box.x + 2);
        if (item.sign.point ? near > NEAR && !(inside && item.tail) : !inside) continue;
        const far = item.sign.point ? near : item.b - item.a;
        if (!best || far < best.far) best = { item, far };
      }
      if (best) return best.item;
    }
    return null;
  }

  // -- drawing

  // One frame. `view`: {a, b} in ns; `rows`: rows with their `y` and `h`; `top`: how far the list is scrolled.
  function frame(pen, { width, height, view, rows, top, low, hot = null, cursor = null, axis = AXIS, same = null, scene }) {
    const at = { view, width, low };
    const ticks = ticksOf(view, width);
    const paint = { pen, at, hot, same, scene, ticks, shift: axis - top };
    pen.rect(0, 0, width, height, "ground");
    const seen = rows.filter((row) => row.y + row.h > top && row.y < top + height - axis);
    pen.within(0, axis, width, height - axis, () => {
      for (const row of seen) ground(paint, row);
      for (const row of seen) items(paint, row);
    });
    pen.rect(0, 0, width, axis, "soft");
    pen.rect(0, axis - 1, width, 1, "line");
    const scale = scaleOf(at);
    for (const time of ticks.found) {
      const [x, text] = [Math.round((time - view.a) * scale), clock(time, ticks.by)];
      const wide = widthOf(text);
      pen.rect(x, axis - 6, 1, 6, "ink");
      // The first and the last one stay inside; what would touch the edge is moved, not cut.
      pen.text(text, Math.min(Math.max(2, x - wide / 2), width - wide - 2), axis / 2 - 2);
    }
    if (cursor != null) pen.rect(Math.round((cursor - view.a) * scale), axis, 1, height, "quiet");
  }

  function ticksOf(view, width) {
    const by = step(view.b - view.a, Math.max(2, width / 90));
    const found = [];
    for (let at = Math.max(0, Math.ceil(view.a / by) * by); at <= view.b; at += by) found.push(at);
    return { by, found };
  }

  function ground({ pen, at, ticks, shift }, row) {
    const scale = scaleOf(at);
    const y = row.y + shift;
    if (row.kind === "title" || row.odd) pen.rect(0, y, at.width, row.h, "soft");
    if (row.kind === "title") return;
    for (const time of ticks.found) pen.rect(Math.round((time - at.view.a) * scale), y, 1, row.h, "line");
    if (row.kind !== "lane") return;
    for (const [since, until] of row.group.busy) {
      if (until < at.view.a) continue;
      if (since > at.view.b) break;
      const left = Math.max(0, (since - at.view.a) * scale);
      pen.rect(left, y, Math.max(1, Math.min(at.width, (until - at.view.a) * scale) - left), row.h, "busy");
    }
  }

  function items(paint, row) {
    const { at, hot, shift } = paint;
    const margin = EDGE / scaleOf(at);
    const beside = new Map();
    for (const layer of row.layers) {
      const last = new Map();
      const alike = new Map(); // marks of one simple glyph, which are most of all marks
      for (const item of between(layer, at.view.a - margin, at.view.b + margin)) {
        const box = boxOf(item, at);
        // Marks of one sign that nobody could tell apart are one mark, until the picture is zoomed.
        if (item.sign.point && item !== hot && !item.label && box.right - box.x < 3) {
          if (box.x - (last.get(item.sign) ?? -Infinity) < THIN) continue;
          last.set(item.sign, box.x);
        }
        box.top += shift;
        const { parts } = item.sign;
        if (item.sign.point && parts.length === 1 && parts[0][1] && !parts[0][4] && item !== hot && box.right - box.x < 3) {
          if (!alike.has(item.sign)) alike.set(item.sign, []);
          alike.get(item.sign).push([box.x, box.top + box.high / 2, box.high / 12]);
        } else sign(paint, item, box);
        if (item.sign.label === "beside" && !(at.low && row.kind === "lane" && item.sign.box[0] < 5)) {
          const line = `${box.top + box.high / 2} ${item.sign.beside ?? 11}`;
          if (!beside.has(line)) beside.set(line, []);
          beside.get(line).push([box.x, item.label]);
        }
      }
      for (const [{ parts: [[, fill, , path]] }, places] of alike) paint.pen.many(path, places, places[0][2], fill);
    }
    for (const [line, points] of beside) labels(paint, points, ...line.split(" ").map(Number));
  }

  function sign(paint, item, { x, right, top, high }) {
    const { pen, at, hot, same, scene } = paint;
    const point = item.sign.point;
    const left = point ? x : Math.max(-4, x);
    const wide = Math.max(1, Math.min(at.width + 4, right) - left);
    if (item.sign.tail && right - x > 3) pen.rect(Math.max(-4, x), top + high / 2 - 0.75, Math.min(at.width + 4, right) - Math.max(-4, x), 1.5, item.sign.tail);
    if (point && (x < -EDGE || x > at.width + EDGE)) return;
    if (point) {
      pen.stamp(`${item.sign.name} ${high}`, x, top + high / 2, AROUND, (on) => {
        for (const one of item.sign.parts) part(on, one, 0, 1, -high / 2, high, item.process, scene);
      });
    } else for (const one of item.sign.parts) part(pen, one, left, wide, top, high, item.process, scene);
    if (item.sign.label === "inside") inside(pen, item.label, Math.max(0, left) + 5, Math.min(at.width, right) - 3, top + high / 2, Math.min(11, high - 1), item.sign.parts.some(([, fill]) => scene.patterns[fill]));
    if (item === hot) pen.edge(point ? x - 8 : left, top - 1, point ? 16 : wide, high + 2, "ink", 2);
    else if (same && item.label === same.label && item.sign === same.sign) pen.edge(left, top, wide, high, "ink");
  }

  function part(pen, [shape, fill = "", alpha = 1, drawn = "", stroke = ""], x, wide, top, high, process, scene) {
    const colour = fill === "own" ? scene.hues[process % scene.hues.length] : fill;
    if (shape === "glyph") pen.glyph(drawn, x, top + high / 2, high / 12, colour, stroke);
    else if (shape === "letter") pen.text(drawn, x, top + high / 2, { fill: colour, bold: true, size: Math.min(10, high - 2), anchor: "middle" });
    else if (shape === "edge") pen.edge(x + 0.5, top + 0.5, Math.max(0, wide - 1), high - 1, stroke);
    else if (shape === "left") pen.rect(x, top, Math.min(3, wide), high, colour);
    else if (shape === "bottom") pen.rect(x, top + high - 2, wide, 2, colour);
    else if (shape === "line") pen.rect(x, top + high / 2 - 1, wide, 2, colour);
    else pen.rect(x, top, wide, high, colour, alpha);
    const patterns = Math.floor(process / scene.hues.length);
    if (shape === "full" && fill === "own" && patterns) pen.rect(x, top, wide, high, `own${((patterns - 1) % 5) + 1}`, 0.5);
  }

  // A label that does not fit into its span is shortened, or left out: it is never cut.
  function inside(pen, text, from, to, middle, size, striped) {
    const room = to - from;
    if (room < 12 || !text) return;
    const wide = widthOf(text, fontOf(false, size));
    let shown = text;
    if (wide > room) {
      const letters = Math.floor((room / wide) * text.length) - 2;
      if (letters < 2) return;
      shown = `${text.slice(0, letters)}\u2026`;
    }
    if (striped) pen.rect(from - 2, middle - size / 2 - 1, Math.min(room, wide) + 4, size + 2, "ground");
    pen.label(shown, from, middle, size);
  }

  // Each label is beside its point, on the side where it has room; a label without room is left out until the picture is zoomed.
  function labels({ pen, at }, points, middle, far) {
    let free = 0;
    points.forEach(([x, label], place) => {
      const following = place + 1 < points.length ? points[place + 1][0] - far : at.width;
      const wide = widthOf(label);
      if (label && x + far + wide <= following) {
        pen.label(label, x + far, middle, 11);
        free = x + far + wide + 6;
      } else {
        if (label && x - far - wide >= free) pen.label(label, x - far - wide, middle, 11);
        free = x + far;
      }
    });
  }

  return { AXIS, CanvasPen, SvgPen, frame, heightOf, hit, boxOf, shortened };
})();
