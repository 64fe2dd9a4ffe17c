// Findings about clients, one row for each rule and client library: GET /audit/clients, if the cluster is audited.
import { find, keyed, make, say, seconds } from "./dom.js";

const MOST = 100;
const NAMES = 4; // of members in a row

// `goTo(group, t)` shows a moment of a group in the picture.
export function showFindings(findings, choose, goTo) {
  const shown = (findings ?? []).slice(0, MOST);
  say(find("findings-head"), findings?.length ? `Findings (${findings.length})` : "Findings");
  find("no-findings").hidden = shown.length > 0;
  say(find("no-findings"), findings ? "No client did anything wrong so far." : "Nobody is audited: serve with --audit.");
  keyed(find("finding-rows"), shown, (each) => JSON.stringify([each.rule, each.library, each.version]), () => {
    const row = make("tr");
    const head = make("th");
    head.scope = "row";
    const group = make("button");
    group.type = "button";
    group.addEventListener("click", () => choose(row.group));
    row.append(head, make("td"), make("td", null, "number"), make("td", null, "number"), make("td"), make("td"));
    row.children[3].append(...["first", "last"].map((which) => {
      const moment = make("button");
      moment.type = "button";
      moment.title = "Show this moment in the picture";
      moment.addEventListener("click", () => goTo(row.moments[which].group, row.moments[which].t));
      return moment;
    }));
    row.children[4].append(make("div"), group);
    row.lastChild.append(make("div"), make("div", null, "quiet"));
    return row;
  }, (row, each) => {
    const [rule, client, count, at, whose, what] = row.children;
    row.className = each.severity === "error" ? "error" : "";
    row.group = each.last.group;
    say(rule, each.rule);
    say(client, [each.library, each.version].filter(Boolean).join(" ") || "unknown");
    say(count, each.count);
    row.moments = each;
    for (const [place, which] of ["first", "last"].entries()) {
      const button = at.children[place];
      say(button, `${place ? "to " : ""}${seconds(each[which].t)} s`);
      button.disabled = each[which].group == null; // a finding about a connection has no picture
      button.hidden = place > 0 && each.count === 1;
    }
    const more = each.members.length - NAMES;
    say(whose.firstChild, each.members.slice(0, NAMES).join(", ") + (more > 0 ? ` and ${each.more_members ? "at least " : ""}${more} more` : ""));
    say(whose.lastChild, row.group ?? "");
    whose.lastChild.hidden = row.group == null;
    whose.lastChild.title = "Show this group in the picture";
    say(what.firstChild, each.first.sentence);
    say(what.lastChild, each.first.instead ? `Right: ${each.first.instead}` : "");
  });
}
