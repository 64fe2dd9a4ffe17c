"use strict";
// The page around the picture: labels that can be focused, zoom and pan, tooltip and details, filter, the table, light and dark, paper.
function beginPage(scene) {
  const find = (id) => document.getElementById(id);
  const make = (tag, text, names) => {
    const made = document.createElement(tag);
    if (text != null) made.textContent = text;
    if (names) made.className = names;
    return made;
  };
  const [scroller, inner, list, canvas, tip] = ["scroll", "inner", "labels", "canvas", "tip"].map(find);
  const context = canvas.getContext("2d");
  Rows = rowsOf(scene);
  let { whole, rows, groups } = Rows;
  const LEAST_NS = 1000;
  const LOW = 30; // more members than that have low rows at first
  const LEAST_BUTTON = 24; // pixels
  const MOST_STOPS = 120; // marks of a lane that Tab reaches at once: to reach more, zoom in
  const PER_PAGE = 200;
  const TIP_FACTS = 6;
  const view = { ...whole };
  const laneCount = (some) => some.filter((row) => row.kind === "lane").length;
  const state = {
    low: laneCount(rows) > LOW, chose: false, hot: null, pinned: null, cursor: null, group: "", words: [], order: "client", open: new Set(), shown: rows,
    dirty: false, row: null,
  };
  const wantsDark = window.matchMedia("(prefers-color-scheme: dark)");
  const forced = window.matchMedia("(forced-colors: active)");
  const dark = () => (document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : wantsDark.matches);

  // The pen has the colours of the page's style, and is made again when those change.
  let pen = null;
  const ROLES = ["ink", "quiet", "ground", "soft", "line", "life", "bad", "good", "warn", "mark", "busy"];
  function colours() {
    // A bitmap apart from the page does not know the page's palette, so names such as CanvasText are resolved here.
    const probe = document.body.appendChild(make("i"));
    probe.style.forcedColorAdjust = "none";
    const found = ROLES.map((role) => {
      probe.style.color = `var(--${role})`;
      return [role, getComputedStyle(probe).color];
    });
    probe.remove();
    return Object.fromEntries(found);
  }
  function repaint() {
    pen = null;
    draw();
  }

  // -- which rows are there, and where

  function arrange() {
    let y = 0;
    let odd = false;
    state.shown = ordered(rows.filter(wanted));
    for (const row of state.shown) {
      row.y = y;
      row.h = Draw.heightOf(row, state.low);
      row.odd = row.kind === "lane" && (odd = !odd);
      y += row.h;
    }
    inner.style.height = `${y + Draw.AXIS + 2}px`;
    const [lane, lanes] = [laneCount(state.shown), laneCount(rows)];
    find("count").textContent = lane === lanes ? `${lanes} members` : `${lane} of ${lanes} members`;
    const used = new Set(state.shown.flatMap((row) => row.legend));
    for (const item of find("legend").querySelectorAll("[data-sign]")) item.hidden = !used.has(item.dataset.sign);
    labels();
    resize();
    remember();
  }

  function wanted(row) {
    if (state.group !== "" && row.group && String(row.group.place) !== state.group) return false;
    if (row.under && !state.open.has(row.under)) return false;
    return row.kind !== "lane" || state.words.every((word) => row.text.includes(word));
  }

  // The lanes are laid out in the order of their clients; the other order is that in which members were first seen.
  function ordered(some) {
    if (state.order === "client") return some;
    const lanes = some.filter((row) => row.kind === "lane").sort((one, other) => one.group.place - other.group.place || (one.arrival ?? 0) - (other.arrival ?? 0));
    return some.map((row) => (row.kind === "lane" ? lanes.shift() : row));
  }

  // What stays, stays the same element: the focus is not lost when the picture grows.
  let elements = new Map();
  function labels() {
    const before = elements;
    elements = new Map(state.shown.map((row) => [row.key, before.get(row.key) ?? labelled(row)]));
    for (const [key, item] of before) if (!elements.has(key)) item.remove();
    state.shown.forEach((row, place) => {
      const item = elements.get(row.key);
      item.style.top = `${row.y}px`;
      item.style.height = `${row.h}px`;
      [row.element, row.button] = [item, item.querySelector(".label")];
      const label = row.button ?? item.firstChild;
      label.textContent = row.title;
      if (row.note) label.append(make("small", row.note));
      if (row.button) row.button.row = row;
      if (list.children[place] !== item) list.insertBefore(item, list.children[place] ?? null);
    });
    reenter();
  }

  function labelled(row) {
    const item = make("li", null, `row ${row.kind}`);
    if (row.kind === "title") {
      item.append(make("h2"));
      return item;
    }
    // A row that is too low for a button (WCAG 2.2, 2.5.8: 24 pixels) has a label that the arrow keys reach, and Tab passes by.
    const button = make(row.h >= LEAST_BUTTON || opens(row) ? "button" : "span", null, "label");
    if (button.type !== undefined) button.type = "button";
    else button.tabIndex = -1;
    button.addEventListener("focus", () => enter(button.row));
    button.addEventListener("click", () => open(button.row));
    item.append(button);
    return item;
  }

  const opens = (row) => rows.some((each) => each.under === row.key);

  // A row that has others under it opens and closes.
  function open(row) {
    tell(Rows.describeRow(row));
    if (!opens(row)) return;
    if (!state.open.delete(row.key)) state.open.add(row.key);
    arrange();
  }

  // -- the marks of the lane in which the focus is, as places that Tab reaches

  function enter(row) {
    if (state.row !== row) {
      state.row?.stops?.forEach((button) => button.remove());
      state.row = row;
      row.stops = new Map();
    }
    stops();
    tell(Rows.describeRow(row));
  }

  const again = (row, item) => row?.items.find((each) => each.sign.name === item.sign.name && each.a === item.a);

  // The lane with the focus is another object now, or gone.
  function reenter() {
    const old = state.row;
    if (!old) return;
    const row = state.shown.find((each) => each.key === old.key) ?? null;
    if (row === old) return;
    state.row = row;
    if (row) row.stops = new Map();
    for (const [item, button] of old.stops) {
      const now = again(row, item);
      if (now) row.stops.set(now, Object.assign(button, { item: now }));
      else button.remove();
    }
  }

  function stops() {
    const row = state.row;
    if (!row?.element?.isConnected) return;
    const seen = row.items.filter((item) => item.end >= view.a && item.a <= view.b).sort((one, other) => one.a - other.a).slice(0, MOST_STOPS);
    const keep = new Set(seen);
    for (const [item, button] of row.stops) {
      if (!keep.has(item) && document.activeElement !== button) {
        button.remove();
        row.stops.delete(item);
      }
    }
    let before = row.button;
    for (const item of seen) {
      const button = row.stops.get(item) ?? stop(row, item);
      if (before.nextSibling !== button) before.after(button);
      place(button, row, item);
      before = button;
    }
  }

  function stop(row, item) {
    const { what, result } = item;
    // Nothing is pressed here and the mouse goes through to the picture: what has the focus is told of, so it is an image with a name.
    const button = make("span", null, "stop");
    button.setAttribute("role", "img");
    button.tabIndex = 0;
    button.setAttribute("aria-label", `${what}${result ? `: ${result}` : ""}, at ${Rows.seconds(item.a)} s, ${row.title}`);
    button.item = item;
    button.addEventListener("focus", () => choose(button.item));
    button.addEventListener("blur", () => choose(null));
    row.stops.set(item, button);
    return button;
  }

  function place(button, row, item) {
    const left = x(Math.max(item.a, view.a));
    const right = item.sign.point ? left : x(Math.min(item.b, view.b));
    button.style.left = `${labelWidth() + left - 6}px`;
    button.style.width = `${Math.max(12, right - left + 12)}px`;
  }

  function choose(item) {
    state.pinned = state.hot = item;
    if (item) tell(Rows.describe(item));
    if (item) tipAt(item, labelWidth() + Math.max(0, x(item.a)), item.row.y + item.row.h - scroller.scrollTop + Draw.AXIS);
    else tip.hidden = true;
    draw();
  }

  // -- the tooltip, which is at the pointer or at the focus, and the details, which stay until something else is chosen

  const SHORT = 120;
  function tipAt(item, left, top) {
    const { what, result, facts } = Rows.describe(item);
    const shown = facts.filter(([name]) => name !== "clock" && name !== "result").slice(0, TIP_FACTS);
    tip.replaceChildren(make("b", result ? `${what}: ${result}` : what), ...shown.map(([name, value]) => (
      make("span", `${name}: ${value.length > SHORT ? `${value.slice(0, SHORT)}\u2026` : value}`)
    )));
    tip.hidden = false;
    const [wide, high] = [tip.offsetWidth, tip.offsetHeight];
    const stage = find("stage");
    // It stays within the stage, and never under the pointer.
    tip.style.left = `${Math.max(0, Math.min(left + 14, stage.clientWidth - wide - 4))}px`;
    tip.style.top = `${top + 16 + high > scroller.clientHeight && top > high + 10 ? top - high - 10 : top + 16}px`;
  }

  function tell({ what, result, facts }) {
    find("details").classList.remove("waiting");
    find("what").textContent = result ? `${what}: ${result}` : what;
    find("facts").replaceChildren(...facts.flatMap(([name, value]) => [make("dt", name), make("dd", String(value))]));
  }

  // -- drawing

  const labelWidth = () => list.getBoundingClientRect().width;
  const width = () => canvas.clientWidth;
  const x = (at) => ((at - view.a) / (view.b - view.a)) * width();
  const time = (place) => view.a + (place / width()) * (view.b - view.a);

  function draw() {
    if (state.dirty) return;
    state.dirty = true;
    requestAnimationFrame(() => {
      state.dirty = false;
      pen ??= new Draw.CanvasPen(context, Rows.scene, colours());
      Draw.frame(pen, {
        width: width(), height: canvas.clientHeight, view, rows: state.shown, top: scroller.scrollTop, low: state.low, hot: state.hot,
        cursor: state.cursor, same: state.hot?.sign.name === "band" ? state.hot : null, scene: Rows.scene,
      });
      document.documentElement.dataset.drawn = `${Number(document.documentElement.dataset.drawn ?? 0) + 1}`;
    });
  }

  function resize() {
    const wide = Math.max(80, scroller.clientWidth - labelWidth());
    const high = Math.min(scroller.clientHeight, inner.clientHeight);
    const dense = window.devicePixelRatio || 1;
    const [across, down] = [Math.round(wide * dense), Math.round(high * dense)];
    if (canvas.width !== across || canvas.height !== down) {
      canvas.style.width = `${wide}px`;
      canvas.style.height = `${high}px`;
      [canvas.width, canvas.height] = [across, down];
      context.setTransform(dense, 0, 0, dense, 0, 0);
      pen = null;
    }
    stops();
    draw();
  }

  function show(a, b) {
    const span = Math.min(Math.max(b - a, LEAST_NS), whole.b - whole.a);
    view.a = Math.min(Math.max(a, whole.a), whole.b - span);
    view.b = view.a + span;
    find("span").textContent = `${Rows.seconds(Math.max(0, view.a))} s to ${Rows.seconds(Math.min(view.b, Rows.scene.end))} s`;
    remember();
    stops();
    draw();
  }

  function zoom(factor, around = (view.a + view.b) / 2) {
    show(around - (around - view.a) * factor, around + (view.b - around) * factor);
  }

  const pan = (share) => show(view.a + share * (view.b - view.a), view.b + share * (view.b - view.a));

  // -- mouse

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { from: event.clientX, a: view.a, b: view.b, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) {
      const moved = ((event.clientX - drag.from) / width()) * (drag.b - drag.a);
      drag.moved ||= Math.abs(event.clientX - drag.from) > 3;
      if (drag.moved) show(drag.a - moved, drag.b - moved);
      return;
    }
    state.cursor = time(event.offsetX);
    const item = under(event);
    state.hot = item ?? state.pinned;
    if (item) tipAt(item, labelWidth() + event.offsetX, event.offsetY);
    else tip.hidden = true;
    draw();
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) {
      state.pinned = state.hot = under(event);
      if (state.hot) tell(Rows.describe(state.hot));
      else welcome();
      draw();
    }
    drag = null;
  });
  canvas.addEventListener("pointerleave", () => {
    state.cursor = null;
    state.hot = state.pinned;
    tip.hidden = true;
    draw();
  });
  canvas.addEventListener("dblclick", (event) => zoom(0.4, time(event.offsetX)));

  function under(event) {
    const y = event.offsetY - Draw.AXIS + scroller.scrollTop;
    const row = event.offsetY < Draw.AXIS ? null : state.shown.find((each) => y >= each.y && y < each.y + each.h);
    return row ? Draw.hit(row, event.offsetX, y, { view, width: width(), low: state.low }) : null;
  }

  // The wheel scrolls the lanes where there are more of them than fit; over the axis, and with Ctrl, it zooms.
  canvas.addEventListener("wheel", (event) => {
    const fits = inner.clientHeight <= scroller.clientHeight + 2;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan((event.deltaX || event.deltaY) / 1000);
    else if (event.ctrlKey || fits || event.offsetY < Draw.AXIS) zoom(Math.exp(event.deltaY / 400), time(event.offsetX));
    else return;
    event.preventDefault();
  }, { passive: false });

  // -- keyboard

  const KEYS = {
    ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15), "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6),
    Escape: () => { tip.hidden = true; }, Home: () => show(whole.a, whole.b), End: () => show(whole.b - (view.b - view.a), whole.b), ArrowUp: () => step(-1), ArrowDown: () => step(1),
  };
  find("picture").addEventListener("keydown", (event) => {
    const act = event.ctrlKey || event.altKey || event.metaKey ? null : KEYS[event.key];
    if (!act || event.target.matches("input, select")) return;
    event.preventDefault();
    act();
  });

  function step(by) {
    const there = state.shown.filter((row) => row.button);
    const now = there.findIndex((row) => row.element.contains(document.activeElement));
    there[Math.min(Math.max(now + by, 0), there.length - 1)]?.button.focus();
  }

  // -- the table

  let lines = null;
  let found = [];
  let first = 0;
  function allLines() {
    lines ??= rows.flatMap((row) => row.items.map(Rows.line)).sort((one, other) => one.at - other.at);
    return lines;
  }

  function table() {
    if (find("facts-table").closest("section").hidden) return;
    const fits = (line) => state.words.every((word) => (line.text ??= line.cells.join(" ").toLowerCase() + line.item.row.text).includes(word));
    const inGroup = (line) => state.group === "" || !line.item.row.group || String(line.item.row.group.place) === state.group;
    found = allLines().filter((line) => inGroup(line) && fits(line));
    first = Math.min(first, Math.max(0, found.length - 1));
    first -= first % PER_PAGE;
    const shown = found.slice(first, first + PER_PAGE);
    find("body").replaceChildren(...shown.map((line) => {
      const made = make("tr");
      line.cells.forEach((cell, place) => made.append(make(place ? "td" : "th", cell)));
      made.firstChild.scope = "row";
      return made;
    }));
    find("place").textContent = found.length ? `${first + 1} to ${first + shown.length} of ${found.length}` : "nothing fits";
    find("earlier").disabled = first === 0;
    find("later").disabled = first + PER_PAGE >= found.length;
  }
  find("earlier").addEventListener("click", () => { first -= PER_PAGE; table(); });
  find("later").addEventListener("click", () => { first += PER_PAGE; table(); });

  // -- controls

  const press = (id, act) => find(id).addEventListener("click", act);
  press("in", () => zoom(0.6));
  press("out", () => zoom(1 / 0.6));
  press("left", () => pan(-0.3));
  press("right", () => pan(0.3));
  press("home", () => show(whole.a, whole.b));
  press("compact", (event) => {
    [state.low, state.chose] = [!state.low, true];
    event.currentTarget.setAttribute("aria-pressed", String(state.low));
    arrange();
  });
  press("theme", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    repaint();
  });
  find("order").addEventListener("change", (event) => {
    state.order = event.target.value;
    arrange();
  });
  press("as-table", (event) => {
    const section = find("table");
    section.hidden = !section.hidden;
    event.currentTarget.setAttribute("aria-pressed", String(!section.hidden));
    table();
    if (!section.hidden) section.scrollIntoView();
  });
  const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
  let waiting = 0;
  find("filter").addEventListener("input", (event) => {
    state.words = wordsOf(event.target.value);
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => { arrange(); table(); });
  });
  find("group").addEventListener("change", (event) => {
    state.group = event.target.value;
    const chosen = groups[Number(state.group)];
    if (state.group !== "" && chosen) show(chosen.from.begin, chosen.from.end);
    else show(whole.a, whole.b);
    arrange();
    table();
  });
  wantsDark.addEventListener("change", repaint);
  forced.addEventListener("change", repaint);
  scroller.addEventListener("scroll", () => { stops(); draw(); }, { passive: true });
  new ResizeObserver(resize).observe(scroller);

  // -- the address: a link leads to the same part of the picture

  const addressed = rows.length > 0; // a page that grows has another picture every second
  let remembering = 0;
  function remember() {
    if (!addressed || !document.documentElement.dataset.ready) return;
    clearTimeout(remembering);
    remembering = setTimeout(() => {
      const said = new URLSearchParams();
      if (view.a > whole.a || view.b < whole.b) said.set("from", (view.a / 1e9).toFixed(6));
      if (view.a > whole.a || view.b < whole.b) said.set("to", (view.b / 1e9).toFixed(6));
      if (state.group !== "") said.set("group", groups[Number(state.group)].name);
      if (find("filter").value) said.set("filter", find("filter").value);
      if (state.order !== "client") said.set("order", state.order);
      if (state.chose) said.set("rows", state.low ? "low" : "high");
      const hash = said.toString();
      if (hash !== location.hash.slice(1)) history.replaceState(null, "", hash ? `#${hash}` : location.pathname);
    }, 250);
  }

  function recall() {
    const said = new URLSearchParams(location.hash.slice(1));
    const group = groups.find((each) => each.name === said.get("group"));
    state.group = find("group").value = group ? String(group.place) : "";
    state.order = find("order").value = said.get("order") === "arrival" ? "arrival" : "client";
    find("filter").value = said.get("filter") ?? "";
    state.words = wordsOf(find("filter").value);
    if (said.has("rows")) [state.low, state.chose] = [said.get("rows") === "low", true];
    find("compact").setAttribute("aria-pressed", String(state.low));
    const [from, to] = ["from", "to"].map((name) => Number.parseFloat(said.get(name)) * 1e9);
    arrange();
    if (to > from) show(from, to);
    else show(whole.a, whole.b);
  }
  window.addEventListener("hashchange", recall);

  // -- sheets: the picture with its labels, on paper and in files

  const LEFT = 190;

  // Draw rows from `start` on, with their labels at the left.
  function sheet(sheetPen, some, wide, high, start) {
    const { svg, context: on } = sheetPen;
    const picture = svg ? sheetPen.add("g", { transform: `translate(${LEFT} 0)` }) : null;
    if (picture) sheetPen.into = picture;
    else on.translate(LEFT, 0);
    Draw.frame(sheetPen, { width: wide - LEFT, height: high, view, rows: some, top: start, low: state.low, scene: Rows.scene });
    if (picture) sheetPen.into = svg;
    else on.translate(-LEFT, 0);
    sheetPen.rect(0, 0, LEFT, high, "ground");
    for (const row of some) {
      const bold = row.kind === "title";
      const title = Draw.shortened(row.title, LEFT - 16);
      const middle = row.y - start + Draw.AXIS + row.h / 2;
      sheetPen.text(title, 6, middle - (row.note ? 6 : 0), { bold, fill: row.kind === "lane" || bold ? "ink" : "quiet" });
      if (row.note) sheetPen.text(Draw.shortened(row.note, LEFT - 16, 10), 6, middle + 7, { fill: "quiet", size: 10 });
    }
    return sheetPen;
  }

  function bitmap(some, wide, high, start) {
    const made = document.createElement("canvas");
    [made.width, made.height] = [2 * wide, 2 * high];
    const on = made.getContext("2d");
    on.scale(2, 2);
    sheet(new Draw.CanvasPen(on, Rows.scene, colours()), some, wide, high, start);
    return made;
  }

  const endOf = (some) => (some.length ? some[some.length - 1].y + some[some.length - 1].h : 0);

  function onPaper() {
    const [pieces, theme] = [[], document.documentElement.dataset.theme];
    document.documentElement.dataset.theme = "light"; // paper is white
    for (let from = 0; from < state.shown.length;) {
      const start = state.shown[from].y;
      let to = from;
      while (to < state.shown.length && state.shown[to].y + state.shown[to].h - start < 560) to += 1;
      to = Math.max(to, from + 1);
      const some = state.shown.slice(from, to);
      const high = endOf(some) - start + Draw.AXIS;
      pieces.push(bitmap(some, 1000, high, start));
      from = to;
    }
    if (theme === undefined) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    find("paper").replaceChildren(...pieces);
  }
  window.addEventListener("beforeprint", onPaper);
  window.addEventListener("afterprint", () => find("paper").replaceChildren());

  // What is seen now, as a file: the rows in the window, with the time to which the picture is zoomed.
  function seen() {
    const some = state.shown.filter((row) => row.y + row.h > scroller.scrollTop && row.y < scroller.scrollTop + canvas.clientHeight - Draw.AXIS);
    const start = some[0]?.y ?? 0;
    return { some, start, wide: width() + LEFT, high: endOf(some) - start + Draw.AXIS };
  }

  function save(blob, name) {
    const link = make("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  press("save-svg", () => {
    const { some, start, wide, high } = seen();
    const { svg } = sheet(new Draw.SvgPen(Rows.scene, colours(), wide, high), some, wide, high, start);
    save(new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" }), "timeline.svg");
  });
  press("save-png", () => {
    const { some, start, wide, high } = seen();
    bitmap(some, wide, high, start).toBlob((blob) => save(blob, "timeline.png"));
  });

  // -- begin, and go on

  function name() {
    find("group").replaceChildren(make("option", "all groups"), ...groups.map((group) => make("option", group.name)));
    [...find("group").options].forEach((option, place) => { option.value = place ? String(groups[place - 1].place) : ""; });
    find("group").value = state.group;
    find("group").closest("label").hidden = groups.length < 2;
    const { sources } = Rows.scene;
    find("about").textContent = sources.map((each) => each.about).join(" \u00b7 ");
    find("headlines").replaceChildren(...Rows.scene.headlines.map((text) => make("li", text)));
    find("notices").replaceChildren(...sources.flatMap((each) => (each.notices || []).map((text) => make("li", text))));
    find("compact").setAttribute("aria-pressed", String(state.low));
  }

  function welcome() {
    if (groups.length) tell({ what: "Details", result: "", facts: [["how", "point at something in the picture, and click to keep what is said of it here; or reach it with Tab"]] });
    else tell({ what: "Nothing to draw", result: "", facts: [["why", "no group is in these rows"]] });
    find("details").classList.add("waiting");
  }

  // The picture as it is later, for a page that grows (groupmock's live page): what was seen is seen still; who saw the end sees the end.
  function grow(data) {
    const [all, last, span] = [view.a <= whole.a && view.b >= whole.b, view.b >= whole.b, view.b - view.a];
    const empty = !groups.length;
    const held = [state.hot, state.pinned].map((item) => item && [item.row.key, item]);
    Rows = rowsOf(data);
    ({ whole, rows, groups } = Rows);
    if (empty) welcome();
    [state.hot, state.pinned] = held.map((pair) => pair && (again(rows.find((row) => row.key === pair[0]), pair[1]) ?? null));
    lines = null;
    if (!state.chose) state.low = laneCount(rows) > LOW;
    name();
    arrange();
    table();
    if (all) show(whole.a, whole.b);
    else if (last) show(whole.b - span, whole.b);
    else show(view.a, view.b);
  }
  window.Picture = { grow, show };

  name();
  recall();
  welcome();
  document.documentElement.dataset.ready = "yes";
}

// A page of its own has its data compressed; the live page begins with none.
{
  const data = JSON.parse(document.getElementById("data").textContent);
  if (typeof data === "string") inflated(data).then(beginPage);
  else beginPage(data);
}
