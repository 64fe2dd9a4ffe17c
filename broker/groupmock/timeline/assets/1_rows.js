"use strict";
// The picture's data, as rows of items. A row is a line of the picture; an item is what can be hovered, focused and found in the table:
// {a, b: from and to (ns), kind, row, ...}. `describe` says an item in words. Nothing here touches the page.
let Rows = null; // what is drawn now: a page that grows is given others again and again
function rowsOf(data) {
  const begin = Math.min(...data.sources.map((each) => each.begin), Infinity);
  const whole = {
    a: Number.isFinite(begin) ? begin : 0,
    b: Math.max(...data.sources.map((each) => each.end), Number.isFinite(begin) ? begin + 1 : 1),
  };
  // A little more than the run: what happened at its very begin or end is not cut.
  const pad = (whole.b - whole.a) * 0.012;
  [whole.a, whole.b] = [whole.a - pad, whole.b + pad];
  const KINDS = {
    fault: "fault", command: "command", finding: "finding", closed: "connection closed", refused: "not let in", says: "client says", note: "note",
  };

  const seconds = (ns) => (ns / 1e9).toFixed(3);
  const lasted = (ns) => (ns >= 1e9 ? `${(ns / 1e9).toFixed(3)} s` : `${(ns / 1e6).toFixed(3)} ms`);
  const several = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

  function ranges(numbers) {
    const spans = [];
    for (const number of numbers) {
      const last = spans[spans.length - 1];
      if (last && last[1] === number - 1) last[1] = number;
      else spans.push([number, number]);
    }
    return spans.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`));
  }

  // Sets of partitions in words, made when somebody looks.
  const words = new Array(data.sets.length);
  function held(place, most = Infinity) {
    const full = (words[place] ??= data.sets[place].map(([topic, numbers]) => `${data.topics[topic]}/${ranges(numbers).join(",")}`).join(" "));
    return full.length <= most ? full : `${full.slice(0, most)}...`;
  }
  const count = (place) => data.sets[place].reduce((sum, [, numbers]) => sum + numbers.length, 0);
  // The colour of a band is that of its first partition: neighbours differ, and the same set looks the same in every lane.
  const colour = (place) => (data.sets[place].length ? data.sets[place][0][0] * 3 + data.sets[place][0][1][0] : 0);

  const rows = [];
  function row(fields) {
    const made = { items: [], text: "", ...fields };
    made.items.forEach((item) => { item.row = made; });
    made.points = made.items.filter((item) => item.point).sort((one, other) => one.a - other.a);
    made.spans = made.items.filter((item) => !item.point).sort((one, other) => one.a - other.a);
    made.text = `${made.title} ${made.text}`.toLowerCase();
    // The same row of a later picture has the same key.
    made.key = [made.kind, made.group ? made.group.name : "", made.lane?.member_id || made.text].join("\n");
    rows.push(made);
    return made;
  }

  const event = (each) => ({ a: each.at, b: each.until, kind: each.kind, point: true, it: each });

  function lane(group, each, end) {
    const items = [];
    for (const life of each.lives || []) items.push({ a: life.since, b: life.until ?? end, kind: "life", it: life });
    for (const [since, until, set] of each.bands || []) items.push({ a: since, b: until ?? end, kind: "band", set, open: until === null });
    for (const mark of each.marks || []) items.push({ a: mark[0], b: mark[1], kind: "mark", point: true, mark });
    items.push(...(each.events || []).map(event));
    const text = [each.member_id, each.client_id, each.instance, each.library, each.host].filter(Boolean).join(" ");
    // What befell it has a line of its own between its marks and its bands, where there is any of it.
    const pinned = (each.events || []).some((one) => one.kind !== "says");
    return row({ kind: "lane", group, title: each.label, lane: each, text, items, pinned });
  }

  function states(group, found, end) {
    return row({
      kind: "state", group, title: "state",
      items: (found.states || []).map((each) => ({ a: each.since, b: each.until ?? end, kind: "state", it: each })),
    });
  }

  function rounds(group, found, end) {
    const items = (found.rounds || []).map((each) => ({ a: each.began, b: each.ended ?? end, kind: "round", it: each }));
    items.push(...(found.generations || []).map((each) => ({ a: each.began, b: each.began, kind: "generation", point: true, it: each })));
    return items.length ? row({ kind: "round", group, title: "rebalances", items }) : null;
  }

  function owners(group, found, end) {
    const gaps = (found.gaps || []).map(([since, until, set]) => ({ a: since, b: until ?? end, kind: "gap", set, open: until === null }));
    const doubles = (found.doubles || []).map(([since, until, set, lanes]) => (
      { a: since, b: until ?? end, kind: "double", set, lanes, open: until === null }
    ));
    if (gaps.length) row({ kind: "gap", group, title: "without an owner", items: gaps });
    if (doubles.length) row({ kind: "double", group, title: "several owners", items: doubles });
    return doubles;
  }

  for (const source of data.sources) {
    if (source.events?.length) row({ kind: "events", group: null, title: "cluster", text: source.name, items: source.events.map(event) });
  }
  const groups = data.groups.map((found, place) => {
    const source = data.sources[found.source];
    const group = { place, found, source, name: data.sources.length > 1 ? `${found.name} (${source.name})` : found.name };
    row({ kind: "title", group, title: group.name, items: [] });
    states(group, found, source.end);
    rounds(group, found, source.end);
    const doubles = owners(group, found, source.end);
    if (found.events?.length) row({ kind: "events", group, title: "events", items: found.events.map(event) });
    group.lanes = (found.lanes || []).map((each) => lane(group, each, source.end));
    for (const item of doubles) for (const which of item.lanes) (group.lanes[which].doubles ??= []).push(item);
    group.busy = (found.states || []).filter((each) => /^(Preparing|Completing)/.test(each.state));
    return group;
  });

  // What an item is, in words: [what, result, [[name, value], ...]]
  const TELL = {
    life: ({ it }) => ["member", it.until == null ? "still there" : it.gone, [["came", it.came], ["gone", it.until == null ? "" : it.gone], ["cause", it.cause]]],
    band: ({ set, open }) => [`owns ${several(count(set), "partition")}`, open ? "to the end" : "", [["partitions", held(set)]]],
    gap: ({ set, open }) => [`${several(count(set), "partition")} without an owner`, open ? "to the end" : "", [["partitions", held(set)]]],
    double: ({ set, lanes, row: at, open }) => [
      `${several(count(set), "partition")} with ${lanes.length} owners`, open ? "to the end" : "",
      [["partitions", held(set)], ["owners", lanes.map((each) => at.group.lanes[each].title).join(", ")]],
    ],
    state: ({ it }) => [it.state, "", [
      ["generation", it.generation], ["members", it.members], ["why", it.reason], ["cause", it.cause],
    ]],
    round: ({ it }) => [`rebalance ${it.number}`, it.ended_in || "under way", [
      ["why", it.reason], ["cause", it.cause], ["generation", `${it.generation_before} to ${it.generation_after}`], ["members", it.members],
      ["leader", it.leader], ["joined last", it.last_joined], ["moved partitions", it.moves === null ? "not known" : it.moves || 0],
      ["preparing", lasted(it.preparing || 0)], ["completing", lasted(it.completing || 0)],
    ]],
    generation: ({ it }) => [`generation ${it.number}`, it.settled ? "settled" : "not settled", [
      ["protocol", it.protocol], ["leader", it.leader], ["members", it.members], ["told", `${it.heard || 0} of ${it.members}`],
      ["plan taken", it.planned == null ? "never" : `${seconds(it.planned)} s`],
    ]],
    mark: ({ mark }) => {
      const [, , api, result, times, latency, seq, asked, answered] = mark;
      const alike = times > 1 ? ` (${times} alike)` : "";
      return [`${data.apis[api]}${alike}`, data.texts[result], [
        [times > 1 ? "slowest answer after" : "answered after", lasted(latency)], ["request", data.texts[asked]],
        ["answer", data.texts[answered]], ["row", seq],
      ]];
    },
  };
  const told = ({ it }) => [
    it.kind === "says" ? it.title : `${KINDS[it.kind]}: ${it.title}`, it.severity || "",
    [["what", it.text], ["times", it.count > 1 ? it.count : ""], ["rows", (it.rows || []).join(", ")]],
  ];

  function describe(item) {
    const [what, result, facts] = (TELL[item.kind] || told)(item);
    const { group, lane: at } = item.row;
    const source = group ? group.source : data.sources[0];
    const when = [["time", `${seconds(item.a)} s`]];
    if (item.b > item.a) when.push(["until", `${seconds(item.b)} s (${lasted(item.b - item.a)})`]);
    if (source?.epoch_ns) when.push(["clock", new Date((source.epoch_ns + item.a) / 1e6).toISOString()]);
    const who = at ? [["member", at.label], ["member id", at.member_id]] : [];
    const all = [...when, ...(result ? [["result", result]] : []), ...facts, ...who, ["group", group ? group.name : ""]];
    return { what, result, facts: all.filter(([, value]) => value !== "" && value != null) };
  }

  function describeRow(each) {
    const { lane: at, group } = each;
    if (!at) {
      return { what: each.title, result: "", facts: [["group", group ? group.name : ""], ["things in this row", each.items.length]].filter((pair) => pair[1] !== "") };
    }
    const facts = [
      ["member id", at.member_id], ["client id", at.client_id], ["static id", at.instance], ["client library", at.library], ["host", at.host],
      ["group", group.name], ["things in this lane", each.items.length],
    ];
    return { what: at.label, result: "", facts: facts.filter(([, value]) => value) };
  }

  const line = (item) => {
    const { what, result, facts } = describe(item);
    const skip = new Set(["time", "until", "clock", "member", "member id", "group", "result"]);
    const rest = facts.filter(([name]) => !skip.has(name)).map(([name, value]) => `${name}: ${value}`).join("; ");
    return {
      item, at: item.a, cells: [
        seconds(item.a), item.b > item.a ? lasted(item.b - item.a) : "", item.row.group ? item.row.group.name : "",
        item.row.lane ? item.row.lane.label : "", what, result, rest,
      ],
    };
  };

  return { data, whole, rows, groups, describe, describeRow, line, held, colour, count, seconds, lasted };
}
