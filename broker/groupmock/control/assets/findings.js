// What clients did wrong: GET /audit/findings, where somebody is audited.
import { find, keyed, make, say, seconds } from "./dom.js";

const MOST = 100; // the newest

export function showFindings(findings) {
  const shown = (findings ?? []).slice(-MOST).reverse();
  say(find("findings-head"), findings?.length ? `Findings (${findings.length})` : "Findings");
  find("no-findings").hidden = shown.length > 0;
  say(find("no-findings"), findings ? "No client did anything wrong so far." : "Nobody is audited: serve with --audit.");
  const seen = new Map();
  const keys = new Map(shown.map((each) => {
    const plain = JSON.stringify([each.rule, each.t, each.member_id, each.rows]);
    seen.set(plain, (seen.get(plain) ?? 0) + 1);
    return [each, `${plain}${seen.get(plain)}`];
  }));
  keyed(find("finding-rows"), shown, (each) => keys.get(each), () => {
    const row = make("tr");
    const head = make("th");
    head.scope = "row";
    row.append(head, make("td", null, "number"), make("td"), make("td"));
    row.lastChild.append(make("div"), make("div", null, "quiet"));
    return row;
  }, (row, each) => {
    const [rule, at, whose, what] = row.children;
    row.className = each.severity === "error" ? "error" : "";
    say(rule, each.rule);
    say(at, `${seconds(each.t)} s`);
    say(whose, [each.group, each.member ?? each.client_id].filter(Boolean).join(" / "));
    say(what.firstChild, each.sentence);
    say(what.lastChild, each.instead ? `Right: ${each.instead}` : "");
  });
}
