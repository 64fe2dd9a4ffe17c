"use strict";
// The scene that the page draws (timeline/scene.py), made ready: items as objects with the end of what lasts, rows with their layers.
// {a, b: from and to (ns), end: to the end of its tail, sign, ...}. Nothing here touches the page.
let Rows = null; // what is drawn now: a page that grows is given others again and again

// The data of a page of its own are compressed; a page that grows is given JSON.
async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

function rowsOf(scene) {
  // A little more than the run: what happened at its very begin or end is not cut.
  const pad = (scene.end - scene.begin) * 0.012;
  const whole = { a: scene.begin - pad, b: scene.end + pad };
  const { texts, signs } = scene;
  const seconds = (ns) => (ns / 1e9).toFixed(3);
  const lasted = (ns) => (ns >= 1e9 ? `${(ns / 1e9).toFixed(3)} s` : `${(ns / 1e6).toFixed(3)} ms`);
  const VALUES = { text: (value) => texts[value], number: String, lasted };
  const facts = (pairs) => {
    const found = [];
    for (let place = 0; place < pairs.length; place += 2) {
      const [name, kind] = scene.facts[pairs[place]];
      found.push([name, VALUES[kind](pairs[place + 1])]);
    }
    return found.filter(([, value]) => value !== "");
  };

  const groups = scene.groups.map((each, place) => ({ ...each, place, from: scene.sources[each.source] }));
  const rows = scene.rows.map((each) => {
    const row = { ...each, group: groups[each.group] ?? null, from: scene.sources[each.source], layers: [] };
    let last = 0;
    row.items = (each.items ?? []).map(([since, length, sign, process, tail, label, what, result, pairs]) => {
      last += since;
      return {
        a: last, b: last + length, end: last + Math.max(length, tail), sign: signs[sign], process, tail, label: texts[label],
        what: texts[what], result: texts[result], pairs, row,
      };
    });
    for (const item of row.items) (row.layers[item.sign.layer ?? 0] ??= []).push(item);
    row.layers = row.layers.filter(Boolean);
    // What lasts longest says how far before a time one has to look for what is still seen then.
    for (const layer of row.layers) layer.longest = Math.max(...layer.map((item) => item.end - item.a));
    row.legend = [...new Set(row.items.flatMap((item) => item.sign.legend ?? []))];
    row.text = `${each.title} ${each.words ?? ""}`.toLowerCase();
    return row;
  });

  function describe(item) {
    const { row } = item;
    const when = [["time", `${seconds(item.a)} s`]];
    if (item.b > item.a) when.push(["until", `${seconds(item.b)} s (${lasted(item.b - item.a)})`]);
    if (row.from?.epoch_ns) when.push(["clock", new Date((row.from.epoch_ns + item.a) / 1e6).toISOString()]);
    const who = row.kind === "lane" ? [["member", row.title], ...facts(row.facts ?? []).slice(0, 1)] : [];
    const all = [...when, ["result", item.result], ...facts(item.pairs), ...who, ["group", row.group?.name ?? ""]];
    return { what: item.what, result: item.result, facts: all.filter(([, value]) => value !== "") };
  }

  function describeRow(row) {
    const found = [...facts(row.facts ?? []), ["group", row.group?.name ?? ""], ["things in this row", String(row.items.length)]];
    return { what: row.title, result: "", facts: found.filter(([, value]) => value !== "") };
  }

  const SKIPPED = new Set(["time", "until", "clock", "member", "member id", "group", "result"]);
  const line = (item) => {
    const { what, result, facts: found } = describe(item);
    const rest = found.filter(([name]) => !SKIPPED.has(name)).map(([name, value]) => `${name}: ${value}`).join("; ");
    return {
      item, at: item.a, cells: [
        seconds(item.a), item.b > item.a ? lasted(item.b - item.a) : "", item.row.group?.name ?? "",
        item.row.kind === "lane" ? item.row.title : "", what, result, rest,
      ],
    };
  };

  return { scene, whole, rows, groups, describe, describeRow, line, seconds, lasted };
}
