// Shows a conversation: how it stands when the page opens, and then what happens, in this page or in another.
//
// Rows of the log and events have the same types and contents, so both are shown by the same code. Text reaches the
// page as text nodes only, whoever wrote it, and so is never read as HTML; also what `markdown` makes of it.

const find = (id) => document.getElementById(id);
const [conversation, form, text, send, stop, state] = ["conversation", "form", "text", "send", "stop", "state"].map(find);

if (!location.hash) history.replaceState(null, "", `#${crypto.randomUUID()}`);
const address = `/conversations/${encodeURIComponent(location.hash.slice(1))}`;
const EXAMPLE = "Which of our services has a problem, and what can we do about it?";

// Elements.

function make(tag, kind = "", ...content) {
  const element = document.createElement(tag);
  if (kind) element.className = kind;
  element.append(...content);
  return element;
}

const add = (parent, ...given) => {
  const element = make(...given);
  parent.append(element);
  return element;
};

const readable = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

// JSON in which nothing hides: a character that is not seen, or that changes the direction of writing, is its number.
const UNSEEN = /(?! )[\p{C}\p{Z}\p{DI}\u2800\u2d7f\ufffc\u{1107f}\u{13441}\u{13442}\u{16fe4}\u{1d159}]/gu;
const exact = (value) =>
  JSON.stringify(value).replace(UNSEEN, (character) => `\\u{${character.codePointAt(0).toString(16)}}`);
const named = (name) => (/^[\w.-]+$/.test(name) ? name : exact(name));
const inSeconds = (seconds) => (seconds < 9.95 ? `${seconds.toFixed(1)} s` : `${Math.round(seconds)} s`);

// Markdown: paragraphs, headings, lists, tables, code, emphasis and links to the web. All else is shown as it is written.

const BLOCK = /^(?:#{1,6} |```|\s*(?:[-*•]|\d+[.)]) |\|)/;
// What is inside holds no mark that begins it, so that a mark which is never closed is searched for only up to the next one.
const INLINE =
  /`([^`]+)`|\*\*(?=\S)((?:[^*]|\*(?!\*))+?)(?<=\S)\*\*|\*(?=\S)([^*]+?)(?<=\S)\*|\[([^\[\]]+)\]\((https?:\/\/[^\s)[]+)\)/g;

function inline(line) {
  const pieces = [];
  let end = 0;
  for (const found of line.matchAll(INLINE)) {
    const [all, code, strong, emphasis, label, url] = found;
    pieces.push(line.slice(end, found.index));
    if (code) pieces.push(make("code", "", code));
    else if (strong) pieces.push(make("strong", "", ...inline(strong)));
    else if (emphasis) pieces.push(make("em", "", ...inline(emphasis)));
    else {
      const link = make("a", "", label);
      Object.assign(link, { href: url, rel: "noopener noreferrer", target: "_blank", title: url });
      pieces.push(link);
    }
    end = found.index + all.length;
  }
  return [...pieces, line.slice(end)].filter((piece) => piece !== "");
}

function listOf(lines) {
  const ordered = /^\s*\d/.test(lines[0]);
  const list = make(ordered ? "ol" : "ul");
  if (ordered) list.start = parseInt(lines[0], 10);
  for (const line of lines) add(list, "li", "", ...inline(line.replace(/^\s*(?:[-*•]|\d+[.)]) /, "")));
  return list;
}

function tableOf(lines) {
  const table = make("table");
  for (const line of lines) {
    const cells = line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
    if (cells.every((cell) => /^:?-+:?$/.test(cell))) continue; // the rule under the head
    const row = add(table, "tr");
    for (const cell of cells) add(row, table.rows.length === 1 ? "th" : "td", "", ...inline(cell));
  }
  return make("div", "table", table);
}

function markdown(source) {
  const lines = source.split("\n");
  const blocks = [];
  const take = (is) => {
    const taken = [];
    while (lines.length && is(lines[0])) taken.push(lines.shift());
    return taken;
  };
  while (lines.length) {
    const line = lines[0];
    if (!line.trim()) lines.shift();
    else if (line.startsWith("```")) {
      lines.shift();
      blocks.push(make("pre", "", make("code", "", take((next) => !next.startsWith("```")).join("\n"))));
      lines.shift();
    } else if (/^#{1,6} /.test(line)) {
      blocks.push(make("h3", "", ...inline(lines.shift().replace(/^#+ /, ""))));
    } else if (line.startsWith("|")) blocks.push(tableOf(take((next) => next.startsWith("|"))));
    else if (BLOCK.test(line)) blocks.push(listOf(take((next) => /^\s*(?:[-*•]|\d+[.)]) /.test(next))));
    else {
      const paragraph = [lines.shift(), ...take((next) => next.trim() && !BLOCK.test(next))];
      blocks.push(make("p", "", ...inline(paragraph.join("\n"))));
    }
  }
  return blocks;
}

// Text that streams.

const sources = new WeakMap(); // of an element, what was written into it
const changed = new Set();

function draw() {
  for (const element of changed) element.replaceChildren(...markdown(sources.get(element)));
  changed.clear();
}

function write(element, content) {
  sources.set(element, (sources.get(element) ?? "") + content);
  if (!changed.size) requestAnimationFrame(() => following(draw)); // once a frame, however many pieces there are
  changed.add(element);
}

/** The place where streamed text of this kind goes on, or a new one. */
function streamed(kind) {
  const last = conversation.lastElementChild;
  if (last?.classList.contains(kind) && last.classList.contains("open")) return last.querySelector(".text");
  close();
  if (kind === "respond") return add(add(conversation, "section", "respond open"), "div", "text");
  const details = add(conversation, "details", "think open");
  details.open = true;
  add(details, "summary", "", "Thinking …");
  return add(details, "div", "text");
}

/** What was written so far is complete: thoughts are folded. */
function close() {
  draw();
  for (const element of conversation.querySelectorAll(".open")) {
    element.classList.remove("open");
    if (!element.classList.contains("think")) continue;
    element.open = false;
    element.firstElementChild.textContent = "Thoughts";
  }
}

function note(kind, content, ...more) {
  close();
  return add(conversation, "p", `note ${kind}`, content, ...more);
}

// Calls.

const cards = () => [...conversation.querySelectorAll(".call")];
const asked = new WeakMap(); // of a card, the arguments
let batch = 0; // how many calls there were before those that run
let again = []; // the cards of calls that are to run now, and were written before

function addCall({ name, args }) {
  close();
  if (!conversation.lastElementChild?.matches(".call[data-state=announced]")) batch = cards().length;
  const card = add(conversation, "details", "call");
  card.dataset.state = "announced";
  const summary = add(card, "summary");
  add(summary, "code", "name", name);
  const written = Object.entries(args).map(([key, value]) => `${named(key)}: ${exact(value)}`);
  add(summary, "code", "args", written.join(", "));
  asked.set(card, args);
  add(summary, "span", "outcome");
  add(summary, "span", "seconds");
}

function setState(card, name, outcome = name) {
  card.dataset.state = name;
  card.querySelector(".outcome").textContent = outcome;
}

function setSeconds(card, seconds) {
  card.querySelector(".seconds").textContent = inSeconds(seconds);
}

function start(card) {
  if (!card) return;
  card.querySelector(".decide")?.remove();
  card.dataset.began = performance.now();
  setState(card, "running");
}

function finish(card, { status, outcome, content }) {
  if (!card) return;
  const failed = status === "failure";
  const said = readable(content ?? ""); // logs of earlier versions have items without
  const isLine = said.length < 120 && !said.includes("\n");
  card.querySelector(".decide")?.remove();
  card.querySelector(".content")?.remove();
  setState(card, failed ? "failure" : "success", readable(outcome ?? (isLine ? said : failed ? "failed" : "done")));
  if (said && (outcome !== undefined || !isLine)) add(card, "pre", "content", said);
}

/** Ask the user about a call. Each choice has a label, a class, a path of the server, and what it posts there. */
function offer(card, name, outcome, [before, after], more, choices) {
  if (card.querySelector(".decide")) return;
  setState(card, name, outcome);
  card.open = true;
  const place = add(card, "div", "decide");
  const tool = make("code", "", make("strong", "", card.querySelector(".name").textContent));
  add(place, "p", "", before, tool, after);
  add(place, "pre", "", readable(asked.get(card)));
  place.append(...more);
  for (const [label, kind, path, body] of choices) {
    const button = add(place, "button", kind, label);
    button.type = "button";
    button.addEventListener("click", async () => {
      const buttons = [...place.querySelectorAll("button")];
      for (const each of buttons) each.disabled = true;
      if (await post(path, body())) return;
      for (const each of buttons) each.disabled = false;
    });
  }
}

function ask(card, { id }) {
  const decide = (decision) => () => ({ decisions: { [id]: decision } });
  offer(card, "waiting", "needs your approval", ["Run ", " with these arguments?"], [], [
    ["Approve", "", "/resume", decide(true)],
    ["Deny", "quiet", "/resume", decide(false)],
  ]);
}

/** Ask whether a call happened; the model has been told that it is unknown, or will be told by the next run. */
function askWhatHappened(card, { id, status }) {
  const result = make("input", "result");
  result.placeholder = "If it happened: what did it return?";
  result.setAttribute("aria-label", result.placeholder);
  const found = (happened) => () => ({ call: id, happened, result: result.value });
  const name = status === "open" ? "unknown" : "unsettled";
  offer(card, name, "it is not known whether it happened", ["Did ", " happen, with these arguments?"], [result], [
    ["It happened", "", "/settle", found(true)],
    ["It did not happen", "quiet", "/settle", found(false)],
  ]);
}

/** Show of each call what the log says, where no event has said it. */
function settle(calls) {
  cards().forEach((card, index) => {
    const call = calls[index];
    if (!call) return;
    if (call.seconds !== null) setSeconds(card, call.seconds);
    if (call.asks && call.decided === null) ask(card, call);
    else if (call.status === "waiting") {
      card.querySelector(".decide")?.remove();
      const decided = { true: "approved, and waits for the others", false: "denied, and waits for the others" };
      setState(card, "waiting", decided[call.decided] ?? "waits for the others");
    } else if (call.unsettled) askWhatHappened(card, call);
    else if (!["success", "failure"].includes(card.dataset.state)) {
      card.querySelector(".decide")?.remove();
      setState(card, call.status === "success" ? "success" : "failure", call.status);
    }
  });
}

setInterval(() => {
  for (const card of conversation.querySelectorAll(".call[data-state=running]")) {
    setSeconds(card, (performance.now() - card.dataset.began) / 1000);
  }
}, 100);

// Events, and rows of the log.

/** What the user is told of output that could not be read; the event's own text is for the model. */
const UNREAD = {
  malformed: "A call could not be read. The model is asked to write it again.",
  unfinished: "A call was not finished. The model is asked to write it again.",
  truncated: "The answer was cut.",
};

const show = {
  user(content) {
    close();
    again = []; // whatever waited is given up
    text.placeholder = "Ask something";
    add(conversation, "section", "user", content);
  },
  think: (content) => write(streamed("think"), content),
  respond: (content) => write(streamed("respond"), content),
  tool_call_start(_, { name }) {
    close();
    const written = add(conversation, "details", "writing");
    written.open = true;
    add(written, "summary", "", `Writing a call of ${name} …`);
    add(written, "pre", "text");
  },
  tool_call_delta(content, { path }) {
    const place = conversation.querySelector(".writing .text");
    if (!place) return;
    const key = path.join(" ");
    if (place.dataset.path !== key) place.append(place.dataset.path === undefined ? "" : "\n", `${key}: `);
    place.dataset.path = key;
    place.append(content);
    place.scrollTop = place.scrollHeight;
  },
  call(content) {
    const known = again.shift();
    if (known) setState(known, "announced", "");
    else addCall(JSON.parse(content));
  },
  started: (_, event) => start(cards()[batch + event.index]),
  finished(_, event) {
    const card = cards()[batch + event.index];
    finish(card, event.result);
    if (card) setSeconds(card, event.seconds);
  },
  result(content) {
    close();
    try {
      const results = [JSON.parse(content)].flat();
      const last = cards().slice(-results.length);
      results.forEach((result, index) => finish(last[index], result)); // one for each call, in their order
    } catch {
      note("error", content);
    }
  },
  error: (content, event) => note("error", UNREAD[event.kind] ?? content),
  cancelled: () => note("", "This answer was stopped. Text that was not finished is not in the log."),
  settled: (content) => note("", content),
  end: close,
  log(_, { rows, calls }) {
    conversation.replaceChildren();
    for (const row of rows) {
      if (row.type !== "call") close(); // a row is complete
      showEvent(row.type === "error" ? { ...row, ...JSON.parse(row.content) } : row);
    }
    close();
    settle(calls);
    if (!rows.length) text.placeholder = EXAMPLE;
    setRunning(false);
    const unfinished = rows.length && !["respond", "end", "cancelled", "error"].includes(rows.at(-1).type);
    if (unfinished && !conversation.querySelector(".call[data-state=waiting] .decide")) offerToGoOn();
    scrollTo(0, document.body.scrollHeight);
  },
  begin() {
    conversation.querySelector("#go-on")?.remove();
    again = cards().filter((card) => ["waiting", "unknown"].includes(card.dataset.state));
    if (again.length) batch = cards().indexOf(again[0]);
    for (const card of again) card.querySelector(".decide")?.remove();
    setRunning(true);
  },
  over(_, { calls, stopped }) {
    close();
    settle(calls);
    setRunning(false);
    if (stopped) show.cancelled();
  },
};

function following(change) {
  const isAtBottom = innerHeight + scrollY >= document.body.scrollHeight - 60;
  change();
  if (isAtBottom) scrollTo(0, document.body.scrollHeight);
}

function showEvent(event) {
  // What is being written is only shown until its call is there, or something in its place.
  if (!event.type.startsWith("tool_call_")) conversation.querySelector(".writing")?.remove();
  following(() => show[event.type]?.(event.content ?? "", event));
}

function offerToGoOn() {
  const button = make("button", "quiet", "Go on");
  button.type = "button";
  button.addEventListener("click", () => post("/resume", {}));
  note("", "This has no answer yet. ", button).id = "go-on";
}

function setRunning(is) {
  state.textContent = is ? "Answering …" : conversation.querySelector(".decide") ? "Waits for you" : "";
  send.hidden = is;
  stop.hidden = !is;
  stop.disabled = false;
}

// The server.

const source = new EventSource(address);
source.addEventListener("message", ({ data }) => {
  showEvent(JSON.parse(data));
  find("fields").disabled = false;
});
source.addEventListener("error", () => {
  state.textContent = "No connection. Trying again …"; // the browser does, and is sent the whole again
  if (source.readyState === EventSource.CLOSED) refused();
});

/** The server gave another answer than events; only a request of one's own shows which. */
async function refused() {
  const response = await fetch(address).catch(() => null);
  await response?.body?.cancel();
  if (response?.status === 404) state.textContent = "You have no such conversation";
  else setTimeout(() => location.reload(), 3000);
}

async function post(path, body) {
  try {
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(address + path, { method: "POST", headers, body: JSON.stringify(body) });
    if (response.ok) return true;
    const { detail } = await response.json();
    note("error", typeof detail === "string" ? detail : `The server answered: ${response.status}`);
  } catch {
    note("error", "The server did not answer.");
  }
  return false;
}

// What the reader does.

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const query = text.value.trim() || (text.placeholder === EXAMPLE ? EXAMPLE : "");
  if (send.hidden || !query) return;
  text.value = "";
  if (!(await post("", { text: query }))) text.value = query;
  scrollTo(0, document.body.scrollHeight);
});
text.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    form.requestSubmit();
  }
});
stop.addEventListener("click", () => {
  stop.disabled = true;
  post("/stop", {});
});
find("new").addEventListener("click", () => {
  location.hash = crypto.randomUUID();
});
addEventListener("hashchange", () => location.reload());
text.focus();
