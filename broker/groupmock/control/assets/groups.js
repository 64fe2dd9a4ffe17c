// Groups, the chosen one's machine and members: what GET /groups, /groups/{group} and /groups/{group}/lag say.
import { called, choice, find, keyed, make, partitions, say } from "./dom.js";
import { machine } from "./machine.js";
import { showTrend } from "./trend.js";

export function showGroups(groups, chosen, choose) {
  find("all").classList.toggle("no-group", !groups.length);
  find("welcome").hidden = groups.length > 0;
  keyed(find("group-rows"), groups, (each) => each.group_id, () => choice("group", ["state", "number", "number", "number trend-of", "number trend-of"], choose), (row, group) => {
    row.item = group;
    row.radio.checked = group.group_id === chosen;
    say(row.label, group.group_id);
    const [, state, generation, members, lag, rate] = row.children;
    state.dataset.state = group.state;
    say(state, group.state);
    state.classList.toggle("held", Boolean(group.held));
    say(generation, group.generation);
    say(members, group.members);
    showTrend(lag, group.group_id, "lag");
    showTrend(rate, group.group_id, "rate");
  });
}

let drawn = "";
export function showMachine(states, group, details) {
  const kind = states[group?.type] ?? Object.values(states)[0] ?? [];
  say(find("machine-head"), group ? `Group ${group.group_id}` : "State machine");
  const key = JSON.stringify([kind, group?.state, group?.held]);
  if (key !== drawn) {
    drawn = key;
    const picture = machine(kind, group?.state, group?.held);
    find("machine").replaceChildren(picture);
    const before = find("hold-state").value;
    find("hold-state").replaceChildren(...kind.filter((each) => each.next.length).map(({ state }) => make("option", state)));
    find("hold-state").value = kind.some((each) => each.state === before && before) ? before : "PreparingRebalance";
  }
  const leader = details?.group.members.find((each) => each.member_id === details.group.leader);
  const facts = group ? [
    [group.type === "share" ? "epoch" : "generation", group.generation], ["protocol", group.protocol ?? "-"],
    ["leader", group.type === "share" ? "" : leader ? called(leader) : "-"],
    ["coordinator", group.coordinator == null ? "-" : `node ${group.coordinator}`], ["waiting", details?.waiting ? `${details.waiting} held back` : ""],
  ].filter(([, value]) => value !== "") : [];
  keyed(find("group-facts"), facts, ([name]) => name, ([name]) => {
    const made = make("div");
    made.append(make("dt", name), make("dd"));
    return made;
  }, (pair, [, value]) => say(pair.lastChild, value));
  const share = group?.type === "share"; // its members share partitions without rebalances, and it has no state to be held in
  find("group-tools").hidden = share;
  find("hold").disabled = !group || share || !find("hold-state").value;
  find("rebalance").disabled = !group || share;
  find("release").disabled = !group?.held;
}

export function showMembers(details, lag, chosen, choose) {
  const members = details?.group.members ?? [];
  const behind = new Map();
  for (const each of lag?.partitions ?? []) behind.set(each.member_id, each.lag == null ? NaN : (behind.get(each.member_id) ?? 0) + each.lag); // NaN: unknown
  say(find("members-head"), members.length ? `Members (${members.length})` : "Members");
  find("no-members").hidden = members.length > 0;
  keyed(find("member-rows"), members, (each) => each.member_id, () => choice("member", ["number", "", "owns"], choose), (row, member) => {
    row.item = member;
    row.radio.checked = member.member_id === chosen;
    row.title = member.member_id;
    say(row.label, called(member) + (member.member_id === details.group.leader ? " (leads)" : ""));
    const [, late, heard, owns] = row.children;
    const some = Object.keys(member.assignment).length > 0 && details.group.type !== "share"; // the lag of shared partitions is nobody's
    const records = behind.get(member.member_id) ?? 0;
    say(late, some && !Number.isNaN(records) ? records : "-");
    const [text, old] = silence(details, member);
    say(heard, text);
    heard.className = old ? "old" : "";
    say(owns, partitions(member.assignment) || "nothing");
  });
  const member = members.find((each) => each.member_id === chosen);
  for (const id of ["expire", "freeze", "thaw", "release-records"]) find(id).disabled = !member;
  say(find("chosen-member"), member ? called(member) : members.length ? "choose a member" : "");
}

// When something was heard of it; past half of its session, of how much.
function silence(details, member) {
  const frozen = [member.member_id, member.group_instance_id].some((each) => each && details.frozen.includes(each));
  const ms = details.silent_ms[member.member_id];
  if (ms == null) return [frozen ? "waits (frozen)" : "waits", frozen];
  const old = 2 * ms > member.session_timeout_ms;
  const told = `${(ms / 1000).toFixed(1)}${old ? ` of ${member.session_timeout_ms / 1000}` : ""} s ago`;
  return [frozen ? `${told} (frozen)` : told, old || frozen];
}
