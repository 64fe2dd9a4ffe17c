// The live page. It is told what may have changed (GET /events?form=changes) and asks for that; it acts by the routes that curl has too.
import { Refused, Silent, ask, asCurl, listen, load, query, segment, setToken } from "./api.js";
import { find, make, say } from "./dom.js";
import { prepareFaults, showFaults } from "./faults.js";
import { showFindings } from "./findings.js";
import { showGroups, showMachine, showMembers } from "./groups.js";
import { keys } from "./keys.js";
import { fieldOf, prepareMessages, tellBeside } from "./messages.js";
import { showRecords } from "./records.js";
import { filterTail, follow, pauseTail } from "./tail.js";
import { showTransactions } from "./transactions.js";
import { sample } from "./trend.js";

/* global Picture */
const LEAST_MS = 300; // between two looks at what changed
const SLOW_MS = 2000; // what changes without a row: lag, silence, counts of rules
const PICTURE_MS = 1000;
const AROUND_NS = 1e9; // before and after a moment that is shown
const LAGS = 8; // groups whose lag is asked for, chosen or not

const state = { health: null, groups: [], chosen: null, details: null, lag: null, records: null, states: {}, faults: [], findings: null, member: null, transactions: [], transaction: null, inside: null, paused: false };

// -- what there is

const group = () => state.groups.find((each) => each.group_id === state.chosen) ?? null;
const ofTransaction = (id, end = "") => `/v1/transactions/${segment(id)}${end}`;
const ofGroup = (name, end = "") => `/v1/groups/${segment(name)}${end}`;
const gone = (error) => {
  if (error instanceof Refused && error.status === 404) return null; // since the groups were listed
  throw error;
};

async function look() {
  const paths = ["/v1/health", "/v1/groups", "/v1/faults", "/v1/transactions"];
  const [health, groups, faults, transactions] = await Promise.all(paths.map((path) => ask("GET", path)));
  Object.assign(state, { health, groups, faults, transactions });
  state.findings = health.audited ? await ask("GET", "/v1/audit/clients?waived=false") : null;
  if (!group()) state.chosen = groups[0]?.group_id ?? null;
  const wanted = new Set([...(state.chosen == null ? [] : [state.chosen]), ...groups.slice(0, LAGS).map((each) => each.group_id)]);
  const found = await Promise.all([...wanted].map(async (name) => [name, await ask("GET", ofGroup(name, "/lag")).catch(gone)]));
  sample(health.t, new Map(found));
  state.lag = found.find(([name]) => name === state.chosen)?.[1] ?? null;
  state.details = state.chosen == null ? null : await ask("GET", `${ofGroup(state.chosen)}?story=false`).catch(gone);
  state.records = group()?.type === "share" ? await ask("GET", ofGroup(state.chosen, "/in-flight")).catch(gone) : null;
  if (!transactions.some((each) => each.transactional_id === state.transaction)) state.transaction = null; // it was forgotten
  state.inside = state.transaction == null ? null : await ask("GET", `${ofTransaction(state.transaction)}?story=false`).catch(gone);
  show();
}

function show() {
  const { health } = state;
  const nodes = health.nodes.map((each) => (each.state === "running" ? "" : `node ${each.id} ${each.state}`)).filter(Boolean);
  const told = [health.bootstrap, health.profile, `seed ${health.seed}`, `${health.nodes.length} ${health.nodes.length === 1 ? "node" : "nodes"}`, ...nodes, `as of ${(health.t / 1e9).toFixed(1)} s`];
  say(find("cluster"), told.join(" \u00b7 "));
  showWelcome(health);
  showNotLetIn(health.not_let_in);
  showGroups(state.groups, state.chosen, (chosen) => choose(chosen.group_id));
  showMachine(state.states, group(), state.details);
  showMembers(state.details, state.lag, state.member, (member) => { state.member = member.member_id; show(); });
  showRecords(group(), state.records, state.details?.group.members ?? []);
  showTransactions(state.transactions, state.transaction, state.inside, (each) => { state.transaction = each.transactional_id; show(); again(); });
  showFaults(state.faults, act);
  showFindings(state.findings, choose, goTo);
}

const TOPICS = 8; // named on a page without groups
function showWelcome({ bootstrap, topics }) {
  say(find("bootstrap"), `bootstrap.servers=${bootstrap}`);
  const names = Object.entries(topics).filter(([name]) => !name.startsWith("__")).map(([name, count]) => `${name} (${count} partition${count === 1 ? "" : "s"})`);
  const more = names.length > TOPICS ? ` and ${names.length - TOPICS} more` : "";
  say(find("topics"), names.length ? `Topics: ${names.slice(0, TOPICS).join(", ")}${more}.` : "There is no topic yet.");
}

const TROUBLES = 10;
function showNotLetIn(sentences) {
  const list = find("not-let-in");
  const shown = sentences.length > TROUBLES ? [...sentences.slice(0, TROUBLES), `and ${sentences.length - TROUBLES} more`] : sentences;
  list.hidden = shown.length === 0;
  if (list.children.length !== shown.length || shown.some((text, place) => list.children[place].textContent !== text)) list.replaceChildren(...shown.map((text) => make("li", text)));
}

let moment = null; // ns of the run: to be shown with the next picture that has it
function goTo(name, at) {
  const ago = (state.health.t - at) / 1e9;
  const windows = [...find("window").options].map(({ value }) => Number(value));
  const wide = windows.find((each) => each > ago + 5) ?? Math.max(...windows); // 5 s: so that it is still inside when the picture comes
  if (wide > Number(find("window").value)) find("window").value = String(wide);
  moment = at;
  choose(name);
  find("timeline").scrollIntoView({ block: "start" });
  find("scroll").focus({ preventScroll: true });
}

function choose(name) {
  Object.assign(state, { chosen: name, details: null, lag: null, records: null, member: null });
  drawn = 0;
  again();
  picture();
  tail();
}

// One look at a time, and not too often; what is asked for meanwhile is one more look.
let looking = false;
let wanted = false;
async function again() {
  wanted = true;
  if (looking || asked || state.paused || document.hidden) return;
  looking = true;
  while (wanted && !asked && !state.paused && !document.hidden) {
    wanted = false;
    try {
      await look();
    } catch (error) {
      failed(error);
    }
    await pause(LEAST_MS);
  }
  looking = false;
}

const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

// -- the picture

let drawing = false;
let drawn = 0;
async function picture() {
  const name = state.chosen;
  if (drawing || performance.now() < drawn + LEAST_MS || state.paused || document.hidden || name == null) return;
  [drawing, drawn] = [true, performance.now()];
  try {
    const found = await ask("GET", `/v1/timeline/${segment(name)}${query({ seconds: find("window").value, scene: true })}`).catch(gone);
    if (found && name === state.chosen && !state.paused) {
      Picture.grow(found);
      if (moment != null && found.sources[0].begin <= moment) {
        Picture.show(moment - AROUND_NS, moment + AROUND_NS);
        moment = null;
      }
    }
  } catch (error) {
    failed(error);
  }
  drawing = false;
}

// -- the server

function status(is, text) {
  const line = find("status");
  line.dataset.is = is;
  say(line, text);
}

const live = () => status(state.paused ? "paused" : "live", state.paused ? "paused" : "live");

function failed(error) {
  if (error instanceof Refused && error.status === 401) wantToken(error.message);
  else if (error instanceof Refused) say(find("said"), error.message);
  else if (error instanceof Silent) status("gone", "nobody answers: trying again");
  else throw error;
}

let asked = null; // settles when a token is given
function wantToken(why) {
  find("refused").textContent = why;
  find("token").setAttribute("aria-invalid", String(why !== ""));
  find("ask").hidden = false;
  find("all").hidden = true;
  status("asks", "a token is wanted");
  asked ??= new Promise((given) => {
    find("ask").addEventListener("submit", (event) => {
      event.preventDefault();
      setToken(find("token").value);
      find("ask").reset();
      find("ask").hidden = true;
      asked = null;
      given();
    }, { once: true });
  });
  find("token").focus();
  return asked;
}

async function begin() {
  state.states = await ask("GET", "/v1/states");
  await prepareOnce();
  find("all").hidden = false;
}

let prepared = null;
const prepareOnce = () => (prepared ??= prepareFaults(act).catch((error) => { prepared = null; throw error; }));

async function watch() {
  for (;;) {
    try {
      if (asked) await asked;
      await begin();
      await listen("/v1/events?form=changes", (name, data) => {
        if (name === "begin") {
          live();
          tail();
        }
        if (name === "end") status("gone", `${data.why}: connecting again`);
        else {
          again();
          picture();
        }
      });
    } catch (error) {
      failed(error);
    }
    await pause(500);
  }
}

const tail = () => follow(state.chosen, failed);

// -- what people do

// `refused(sentence)` returns the field that a refusal is about, if any.
async function act(control, method, path, body, refused = () => null) {
  const command = find("curl");
  command.hidden = false;
  say(command, asCurl(method, path, body));
  try {
    const answer = await ask(method, path, body);
    tellBeside(control, answer.seq ? `Done: row ${answer.seq}.` : "Done.");
    again();
    return true;
  } catch (error) {
    notDone(control, error, refused);
    return false;
  }
}

function notDone(control, error, refused) {
  if (error instanceof Silent) tellBeside(control, "Not sent: the server does not answer.", { wrong: true });
  if (error instanceof Refused && error.status !== 401) tellBeside(control, error.message, { wrong: true, field: refused(error.message) });
  else failed(error);
}

async function download(control, path, name) {
  try {
    const address = URL.createObjectURL(await load(path)); // not a plain link: a request by a link carries no token
    Object.assign(make("a"), { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    tellBeside(control, `Downloaded as ${name}.`);
  } catch (error) {
    notDone(control, error, () => null);
  }
}

async function copy(control) {
  try {
    await navigator.clipboard.writeText(find("bootstrap").textContent);
    tellBeside(control, "Copied.");
  } catch { // without permission, or from another machine without TLS
    getSelection().selectAllChildren(find("bootstrap"));
    tellBeside(control, "The line is selected: copy it with Ctrl+C.");
  }
}

const steer = (id, body) => state.chosen != null && act(find(id), "POST", ofGroup(state.chosen, `/${id}`), body);
const steerRecords = (id, path) => state.chosen != null && act(find(id), "POST", ofGroup(state.chosen, `/${path}`));
const steerTransaction = (word) => state.transaction != null && act(find(`transaction-${word}`), "POST", ofTransaction(state.transaction, `/${word}`));
const steerMember = (word) => state.member != null && steer(word, { member: state.member });

function setPaused(wanted) {
  state.paused = wanted;
  find("pause").setAttribute("aria-pressed", String(wanted));
  pauseTail(wanted);
  live();
  if (!wanted) again();
}

const focus = (id) => () => {
  const part = find(id);
  (part.matches("input, select, button") ? part : part.querySelector("input:checked, input, [tabindex='0'], button"))?.focus();
  part.closest("section")?.scrollIntoView({ block: "nearest" });
};
const press = (id) => () => { if (!find(id).disabled) find(id).click(); };

const CLICKS = {
  hold: () => steer("hold", { state: find("hold-state").value }), release: () => steer("release"), rebalance: () => steer("rebalance"),
  expire: () => steerMember("expire"), freeze: () => steerMember("freeze"), thaw: () => steerMember("thaw"),
  "expire-locks": () => steerRecords("expire-locks", "locks/expire"),
  "release-records": () => state.member != null && act(find("release-records"), "POST", ofGroup(state.chosen, "/records/release"), { member: state.member }),
  "hold-deliveries": () => steerRecords("hold-deliveries", "deliveries/hold"),
  "resume-deliveries": () => steerRecords("resume-deliveries", "deliveries/resume"),
  copy: () => copy(find("copy")),
  "save-picture": () => download(find("save-picture"), `/v1/timeline/${segment(state.chosen)}/page${query({ seconds: find("window").value })}`, "groupmock-timeline.html"),
  "save-journal": () => download(find("save-journal"), "/v1/journal/file", "groupmock-journal.jsonl"),
  pause: () => setPaused(!state.paused), reset: () => find("reset-dialog").showModal(), help: () => find("keys-dialog").showModal(),
};
for (const [id, done] of Object.entries(CLICKS)) find(id).addEventListener("click", done);
for (const word of ["abort", "fence", "expire", "hold", "release"]) find(`transaction-${word}`).addEventListener("click", () => steerTransaction(word));
find("step").addEventListener("submit", (event) => {
  event.preventDefault();
  act(event.submitter ?? find("step-ms"), "POST", "/v1/clock/step", { ms: Number(find("step-ms").value) }, (sentence) => fieldOf(sentence, [find("step-ms")]));
});
find("reset-dialog").addEventListener("close", () => { if (find("reset-dialog").returnValue === "reset") act(find("reset"), "POST", "/v1/reset"); });
find("window").addEventListener("change", () => { drawn = 0; picture(); });
find("tail-filter").addEventListener("submit", (event) => event.preventDefault());
find("tail-filter").addEventListener("change", (event) => { if (event.target.id !== "tail-words") tail(); });
find("tail-words").addEventListener("input", filterTail);
document.addEventListener("visibilitychange", () => { if (!document.hidden) again(); });

keys([
  ["g", "groups", focus("group-rows")], ["m", "members", focus("member-rows")], ["t", "timeline", () => find("scroll").focus()],
  ["f", "faults: a new rule", () => { find("adding").open = true; focus("rule-kind")(); }], ["n", "findings", focus("findings")], ["x", "transactions", focus("transaction-rows")], ["j", "journal", () => find("tail").focus()],
  ["/", "words of the journal", focus("tail-words")], ["h", "hold the group", press("hold")], ["r", "release it", press("release")],
  ["b", "make it rebalance", press("rebalance")], ["e", "expire the chosen member", press("expire")], ["z", "freeze it", press("freeze")],
  ["y", "thaw it", press("thaw")], ["s", "step the clock", () => find("step").requestSubmit()], ["p", "pause, go on", press("pause")],
  ["?", "these keys", press("help")],
]);

// The picture's parts that are not for every moment stand where they are in nobody's way.
say(find("home"), "All, and follow");
find("theme-place").replaceWith(find("theme"));
prepareMessages();
const signs = make("details");
signs.append(make("summary", "Signs and keys of the picture"), find("legend"), find("keys"));
find("picture").after(signs);
setInterval(again, SLOW_MS);
setInterval(picture, PICTURE_MS);
if (document.body.dataset.token === "wanted") wantToken("");
watch();
