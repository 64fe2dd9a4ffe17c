// Transactional ids, what is in the chosen one's open transaction, and what can be done to it: what GET /transactions and
// /transactions/{transactional_id} say.
import { choice, find, keyed, partitions, say } from "./dom.js";

const MOST = 100; // those with a transaction first
const HUES = { Ongoing: "#0072b2", PrepareCommit: "#e69f00", PrepareAbort: "#e69f00", CompleteCommit: "#009e73", CompleteAbort: "#d55e00" };

export function showTransactions(ids, chosen, details, choose) {
  const shown = [...ids].sort((one, other) => (one.open_ms == null) - (other.open_ms == null)).slice(0, MOST);
  const open = ids.filter((each) => each.open_ms != null).length;
  say(find("transactions-head"), ids.length ? `Transactions (${open} open of ${ids.length} ids)` : "Transactions");
  find("no-transactions").hidden = ids.length > 0;
  keyed(find("transaction-rows"), shown, (each) => each.transactional_id, () => choice("transaction", ["state", "number", "number", "number", "", ""], choose), (row, each) => {
    row.item = each;
    row.radio.checked = each.transactional_id === chosen;
    say(row.label, each.transactional_id);
    const [, state, producer, epoch, count, since, node] = row.children;
    state.style.setProperty("--hue", HUES[each.state] ?? "#8d8d8d");
    say(state, each.state);
    state.classList.toggle("held", each.held);
    say(producer, each.producer_id);
    say(epoch, each.epoch);
    say(count, each.partitions);
    const [text, old] = openFor(each);
    say(since, text);
    since.className = old ? "old" : "";
    say(node, each.coordinator == null ? "-" : `node ${each.coordinator}`);
  });
  const known = shown.find((each) => each.transactional_id === chosen);
  say(find("chosen-transaction"), known ? inside(known, details) : ids.length ? "choose a transactional id" : "");
  for (const [id, may] of Object.entries(MAY)) find(`transaction-${id}`).disabled = !(known && may(known));
}

const prepared = (each) => each.state.startsWith("Prepare");
// As the coordinator's own steering has it: what it would refuse is not offered.
const MAY = {
  abort: (each) => each.state === "Ongoing", fence: (each) => !prepared(each), expire: (each) => each.state !== "Ongoing" && !prepared(each),
  hold: (each) => !each.held, release: (each) => each.held,
};

// For how long; past half of its time, of how much.
function openFor({ open_ms: ms, timeout_ms: most }) {
  if (ms == null) return ["-", false];
  const old = 2 * ms > most;
  return [`${(ms / 1000).toFixed(1)}${old ? ` of ${most / 1000}` : ""} s`, old];
}

function inside(known, details) {
  const here = details?.transaction.transactional_id === known.transactional_id ? details : null;
  const what = here ? [partitions(here.partitions), here.groups.length && `offsets of ${here.groups.join(", ")}`].filter(Boolean).join("; ") : "";
  return `${known.transactional_id}${what ? `: ${what}` : ""}`;
}
