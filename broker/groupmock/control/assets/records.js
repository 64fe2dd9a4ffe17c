// The records that members of the chosen share group have, or that wait for another delivery: what GET /groups/{group}/in-flight says.
import { find, keyed, make, say } from "./dom.js";

const MOST = 200; // runs of records
const HUES = { acquired: "#0072b2", available: "#e69f00", acknowledged: "#009e73", archived: "#d55e00" };
const CELLS = ["number", "state", "number", "", "number"];

export function showRecords(group, partitions, members) {
  const share = group?.type === "share";
  find("records").hidden = !share;
  if (!share) return;
  const runs = (partitions ?? []).flatMap((each) => each.records.map((run) => ({ ...run, place: `${each.topic}/${each.partition}` })));
  const acquired = (partitions ?? []).reduce((sum, each) => sum + each.acquired, 0);
  say(find("records-head"), runs.length ? `Records in flight (${acquired} acquired)` : "Records in flight");
  find("no-records").hidden = runs.length > 0;
  const more = runs.length > MOST ? `${runs.length - MOST} more runs of records are not shown. ` : "";
  const held = (partitions ?? []).some((each) => each.held) ? "Deliveries are held. " : "";
  say(find("records-more"), `${held}${more}${(partitions ?? []).map(progress).join("; ")}`);
  const names = new Map(members.map((each) => [each.member_id, each.client_id || each.member_id]));
  keyed(find("record-rows"), runs.slice(0, MOST), (run) => `${run.place} ${run.first}`, build, (row, run) => {
    const [place, offsets, state, deliveries, who, lock] = row.children;
    say(place, run.place);
    say(offsets, run.first === run.last ? run.first : `${run.first} to ${run.last}`);
    state.style.setProperty("--hue", HUES[run.state]);
    say(state, run.state);
    say(deliveries, run.deliveries);
    say(who, run.member_id == null ? "-" : names.get(run.member_id) ?? `${run.member_id} (no member)`);
    say(lock, run.lock_ms == null ? "-" : `${(run.lock_ms / 1000).toFixed(1)} s`);
  });
}

function build() {
  const row = make("tr");
  const head = make("th");
  head.scope = "row";
  row.append(head, ...CELLS.map((names) => make("td", null, names)));
  return row;
}

const progress = (each) => `${each.topic}/${each.partition}: done up to ${each.start}, lag ${each.lag < 0 ? "unknown" : each.lag}`;
