"use strict";
// The page around the picture: labels that can be focused, zoom and pan, details, filter, the table, light and dark, paper.
(() => {
  const find = (id) => document.getElementById(id);
  const make = (tag, text, names) => {
    const made = document.createElement(tag);
    if (text != null) made.textContent = text;
    if (names) made.className = names;
    return made;
  };
  const [scroller, inner, list, canvas] = [find("scroll"), find("inner"), find("labels"), find("canvas")];
  const context = canvas.getContext("2d");
  Rows = rowsOf(JSON.parse(find("data").textContent));
  let { whole, rows, groups } = Rows;
  const LEAST_NS = 1000;
  const LOW = 30; // more members than that have low rows at first
  const MOST_STOPS = 120; // marks of a lane that Tab reaches at once: to reach more, zoom in
  const PER_PAGE = 200;
  const view = { ...whole };
  const laneCount = (some) => some.filter((row) => row.kind === "lane").length;
  const state = { compact: laneCount(rows) > LOW, chose: false, hot: null, pinned: null, cursor: null, group: "", words: [], shown: rows, dirty: false, row: null };
  const darkWanted = window.matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : darkWanted.matches);

  // -- which rows are there, and where

  function arrange() {
    let y = 0;
    let odd = false;
    state.shown = rows.filter(wanted);
    for (const row of state.shown) {
      row.y = y;
      row.h = Draw.heightOf(row, state.compact);
      row.odd = row.kind === "lane" && (odd = !odd);
      y += row.h;
    }
    inner.style.height = `${y + Draw.AXIS + 2}px`;
    const [lane, lanes] = [laneCount(state.shown), laneCount(rows)];
    find("count").textContent = lane === lanes ? `${lanes} members` : `${lane} of ${lanes} members`;
    labels();
    resize();
  }

  function wanted(row) {
    if (state.group !== "" && row.group && String(row.group.place) !== state.group) return false;
    return row.kind !== "lane" || state.words.every((word) => row.text.includes(word));
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
      (row.button ?? item.firstChild).textContent = row.title;
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
    const button = make("button", null, "label");
    button.type = "button";
    button.addEventListener("focus", () => enter(button.row));
    button.addEventListener("click", () => tell(Rows.describeRow(button.row)));
    button.addEventListener("mouseenter", () => state.pinned ?? tell(Rows.describeRow(button.row)));
    item.append(button);
    return item;
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

  const again = (row, item) => row?.items.find((each) => each.kind === item.kind && each.a === item.a);

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
    const seen = row.items.filter((item) => item.b >= view.a && item.a <= view.b).sort((one, other) => one.a - other.a).slice(0, MOST_STOPS);
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
    const { what, result } = Rows.describe(item);
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
    const right = item.point ? left : x(Math.min(item.b, view.b));
    button.style.left = `${labelWidth() + left - 6}px`;
    button.style.width = `${Math.max(12, right - left + 12)}px`;
  }

  function choose(item) {
    state.pinned = state.hot = item;
    if (item) tell(Rows.describe(item));
    draw();
  }

  // -- details

  function tell({ what, result, facts }) {
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
      Draw.frame(context, {
        width: width(), height: canvas.clientHeight, view, rows: state.shown, top: scroller.scrollTop, dark: dark(), compact: state.compact,
        hot: state.hot, cursor: state.cursor, same: state.hot?.kind === "band" ? state.hot.set : null,
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
    }
    stops();
    draw();
  }

  function show(a, b) {
    const span = Math.min(Math.max(b - a, LEAST_NS), whole.b - whole.a);
    view.a = Math.min(Math.max(a, whole.a), whole.b - span);
    view.b = view.a + span;
    find("span").textContent = `${Rows.seconds(Math.max(0, view.a))} s to ${Rows.seconds(view.b)} s`;
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
    state.hot = under(event) ?? state.pinned;
    if (state.hot) tell(Rows.describe(state.hot));
    draw();
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) {
      state.pinned = state.hot = under(event);
      if (state.hot) tell(Rows.describe(state.hot));
      draw();
    }
    drag = null;
  });
  canvas.addEventListener("pointerleave", () => {
    state.cursor = null;
    state.hot = state.pinned;
    draw();
  });
  canvas.addEventListener("dblclick", (event) => zoom(0.4, time(event.offsetX)));

  function under(event) {
    const y = event.offsetY - Draw.AXIS + scroller.scrollTop;
    const row = event.offsetY < Draw.AXIS ? null : state.shown.find((each) => y >= each.y && y < each.y + each.h);
    return row ? Draw.hit(row, time(event.offsetX), width() / (view.b - view.a)) : null;
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
    Home: () => show(whole.a, whole.b), End: () => show(whole.b - (view.b - view.a), whole.b), ArrowUp: () => step(-1), ArrowDown: () => step(1),
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
    [state.compact, state.chose] = [!state.compact, true];
    event.currentTarget.setAttribute("aria-pressed", String(state.compact));
    arrange();
  });
  press("theme", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    legend();
    draw();
  });
  press("as-table", (event) => {
    const section = find("table");
    section.hidden = !section.hidden;
    event.currentTarget.setAttribute("aria-pressed", String(!section.hidden));
    table();
    if (!section.hidden) section.scrollIntoView();
  });
  let waiting = 0;
  find("filter").addEventListener("input", (event) => {
    state.words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => { arrange(); table(); });
  });
  find("group").addEventListener("change", (event) => {
    state.group = event.target.value;
    const chosen = groups[Number(state.group)];
    if (state.group !== "" && chosen) show(chosen.source.begin, chosen.source.end);
    else show(whole.a, whole.b);
    arrange();
    table();
  });
  darkWanted.addEventListener("change", () => { legend(); draw(); });
  scroller.addEventListener("scroll", () => { stops(); draw(); }, { passive: true });
  new ResizeObserver(resize).observe(scroller);

  // -- the legend, drawn as the picture is

  function legend() {
    const item = (points, spans, kind, lane) => {
      const row = { kind, y: 0, h: kind === "lane" ? 21 : 22, points, spans, group: { busy: [], source: whole }, items: [], doubles: [] };
      return [row, lane];
    };
    const mark = (api, result) => ({ a: 50, b: 50, kind: "mark", point: true, mark: [50, 50, Rows.data.apis.indexOf(api), result, 1, 0, 0, 0, 0] });
    const event = (kind, severity, at = 50) => ({ a: at, b: at, kind, point: true, it: { kind, title: "", severity } });
    const [fine, led, refused] = ["ok", Rows.data.expected[0], "refused"].map((text) => {
      const place = Rows.data.texts.indexOf(text);
      return place < 0 ? Rows.data.texts.push(text) - 1 : place;
    });
    const parts = [
      ["JoinGroup", item([mark("JoinGroup", fine)], [], "lane")], ["SyncGroup", item([mark("SyncGroup", fine)], [], "lane")],
      ["Heartbeat", item([mark("Heartbeat", fine)], [], "lane")], ["OffsetCommit", item([mark("OffsetCommit", fine)], [], "lane")],
      ["LeaveGroup", item([mark("LeaveGroup", fine)], [], "lane")], ["told to join (again)", item([mark("JoinGroup", led)], [], "lane")], ["refused, lost or never answered", item([mark("JoinGroup", refused)], [], "lane")],
      ["fault", item([event("fault")], [], "events")], ["command", item([event("command")], [], "events")],
      ["finding", item([event("finding", "error", 20)], [], "events")], ["connection closed", item([event("closed")], [], "events")], ["a client says", item([event("says")], [], "lane")],
    ];
    find("legend").replaceChildren(...parts.map(([name, [row]]) => {
      const made = make("li");
      const small = document.createElement("canvas");
      [small.width, small.height] = [44, 44];
      small.setAttribute("aria-hidden", "true");
      const pen = small.getContext("2d");
      pen.scale(2, 2);
      row.y = row.kind === "lane" ? 1 : 0;
      Draw.frame(pen, { width: 22, height: 22, view: { a: 0, b: 100 }, rows: [row], top: 0, dark: dark(), compact: false, axis: 0 });
      made.append(small, make("span", name));
      return made;
    }), ...WORDS.map(([sign, text]) => {
      const made = make("li");
      made.append(make("span", sign, `swatch ${text.split(" ")[0]}`), make("span", text));
      return made;
    }));
  }
  const WORDS = [["", "gap: striped, nobody owns these partitions"], ["", "double: crossed, several members own these"], ["", "band: what a member owns"]];

  // -- paper: all rows, in pieces that fit on a page

  function onPaper() {
    const pieces = [];
    const wide = 1000;
    let from = 0;
    while (from < state.shown.length) {
      const start = state.shown[from].y;
      let to = from;
      while (to < state.shown.length && state.shown[to].y + state.shown[to].h - start < 560) to += 1;
      to = Math.max(to, from + 1);
      pieces.push(piece(state.shown.slice(from, to), start, wide));
      from = to;
    }
    find("paper").replaceChildren(...pieces);
  }

  function piece(some, start, wide) {
    const left = 180;
    const high = some[some.length - 1].y + some[some.length - 1].h - start + Draw.AXIS;
    const made = document.createElement("canvas");
    [made.width, made.height] = [wide * 2, high * 2];
    const pen = made.getContext("2d");
    pen.scale(2, 2);
    pen.fillStyle = "#ffffff";
    pen.fillRect(0, 0, wide, high);
    pen.translate(left, 0);
    Draw.frame(pen, { width: wide - left, height: high, view, rows: some, top: start, dark: false, compact: state.compact });
    pen.translate(-left, 0);
    pen.fillStyle = "#ffffff";
    pen.fillRect(0, 0, left, high);
    pen.fillStyle = "#16191d";
    pen.textBaseline = "middle";
    for (const row of some) {
      pen.font = `${row.kind === "title" ? "bold " : ""}11px system-ui, sans-serif`;
      pen.fillText(row.title, 4, row.y - start + Draw.AXIS + row.h / 2, left - 8);
    }
    return made;
  }
  window.addEventListener("beforeprint", onPaper);
  window.addEventListener("afterprint", () => find("paper").replaceChildren());

  // -- begin, and go on

  function name() {
    find("group").replaceChildren(make("option", "all groups"), ...groups.map((group) => make("option", group.name)));
    [...find("group").options].forEach((option, place) => { option.value = place ? String(groups[place - 1].place) : ""; });
    find("group").value = state.group;
    find("group").closest("label").hidden = groups.length < 2;
    const { sources } = Rows.data;
    find("about").textContent = sources.map((each) => [each.name, each.run && `run ${each.run}`, each.profile, each.product].filter(Boolean).join(", ")).join(" \u00b7 ");
    find("notices").replaceChildren(...sources.flatMap((each) => (each.notices || []).map((text) => make("li", sources.length > 1 ? `${each.name}: ${text}` : text))));
    find("compact").setAttribute("aria-pressed", String(state.compact));
  }

  function welcome() {
    if (groups.length) tell({ what: "Details", result: "", facts: [["how", "point at something in the picture, or reach it with Tab"]] });
    else tell({ what: "Nothing to draw", result: "", facts: [["why", "no group is in these rows"]] });
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
    if (!state.chose) state.compact = laneCount(rows) > LOW;
    name();
    arrange();
    table();
    if (all) show(whole.a, whole.b);
    else if (last) show(whole.b - span, whole.b);
    else show(view.a, view.b);
  }
  window.Picture = { grow, show };

  name();
  arrange();
  legend();
  show(whole.a, whole.b);
  welcome();
  document.documentElement.dataset.ready = "yes";
})();
