// The control API as this page asks it. Whatever is asked here, curl can ask.
let token = ""; // in this variable and nowhere else: not in an address, a cookie or a store

export function setToken(given) {
  token = given;
}

export class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

// A segment of a path, a query: what is empty is left out.
export const segment = encodeURIComponent;
export function query(fields) {
  const said = Object.entries(fields).filter(([, value]) => value !== "" && value != null);
  return said.length ? `?${new URLSearchParams(said)}` : "";
}

// Nobody answers.
export class Silent extends Error {}

async function request(method, path, body, signal) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  try {
    return await fetch(path, { method, body, headers, signal, cache: "no-store", credentials: "omit", redirect: "error" });
  } catch (error) {
    throw new Silent(error.message);
  }
}

async function refusal(response) {
  const answer = await response.json().catch(() => ({}));
  return new Refused(response.status, answer.error ?? `HTTP ${response.status}`);
}

// The answer as JSON. Throws Refused, Silent.
export async function ask(method, path, body) {
  const response = await request(method, path, body === undefined ? undefined : JSON.stringify(body));
  if (!response.ok) throw await refusal(response);
  return response.json();
}

// The answer as bytes, for a file. Throws Refused, Silent.
export async function load(path) {
  const response = await request("GET", path);
  if (!response.ok) throw await refusal(response);
  return response.blob().catch((error) => { throw new Silent(error.message); });
}

// Server-sent events until the server ends them; `hear(name, data)` is told of each. EventSource cannot send a token, so it is read by hand.
export async function listen(path, hear, signal) {
  const response = await request("GET", path, undefined, signal);
  if (!response.ok) throw await refusal(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read().catch((error) => { throw new Silent(error.message); });
    if (done) return;
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    for (const each of events) {
      const fields = Object.fromEntries(each.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]));
      if (fields.event) hear(fields.event, JSON.parse(fields.data));
    }
  }
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

// The same as a command; the token stays out of it.
export function asCurl(method, path, body) {
  const header = token ? ' -H "Authorization: Bearer $GROUPMOCK_TOKEN"' : "";
  const ascii = (text) => text.replace(/[\u007f-\uffff]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const data = body === undefined ? "" : ` -d ${quoted(ascii(JSON.stringify(body)))}`;
  return `curl${method === "GET" ? "" : ` -X ${method}`}${header} ${quoted(location.origin + path)}${data}`;
}
