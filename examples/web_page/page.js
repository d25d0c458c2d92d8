// Shows a conversation: its log when the page opens, and then the events of each turn while they stream.
//
// Rows of the log and events have the same types and contents, so both are shown by the same code. Text reaches the
// page through `textContent` only, and so is never read as HTML, whoever wrote it.

const find = (id) => document.getElementById(id);
const [conversation, form, text, send, stop, state] = ["conversation", "form", "text", "send", "stop", "state"].map(find);

if (!location.hash) history.replaceState(null, "", `#${crypto.randomUUID()}`);
const address = `/conversations/${encodeURIComponent(location.hash.slice(1))}`;
let running = null; // the AbortController of the turn in progress

// What is on the page.

function add(parent, tag, kind, content = "") {
  const element = document.createElement(tag);
  element.className = kind;
  element.textContent = content;
  parent.append(element);
  return element;
}

/** The place where streamed text of this kind goes on, or a new one. */
function streamed(kind) {
  const last = conversation.lastElementChild;
  if (last?.classList.contains(kind) && last.classList.contains("open")) return last.querySelector(".text");
  if (kind === "think") {
    const details = add(conversation, "details", "think open");
    details.open = true;
    add(details, "summary", "", "Thinking");
    return add(details, "p", "text");
  }
  return add(add(conversation, "section", `${kind} open`), "p", "text");
}

function close() {
  for (const element of conversation.querySelectorAll(".open")) element.classList.remove("open");
}

function note(kind, content) {
  close();
  add(conversation, "p", `note ${kind}`, content);
}

/** What the user is told of output that could not be read; the event's own text is for the model. */
const UNREAD = {
  malformed: "A call could not be read. The model is asked to write it again.",
  unfinished: "A call was not finished. The model is asked to write it again.",
  truncated: "The answer was cut.",
};

const readable = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

function addCall({ name, args }) {
  close();
  const card = add(conversation, "details", "call");
  card.dataset.state = "running";
  const summary = add(card, "summary", "");
  add(summary, "code", "name", name);
  add(summary, "code", "args", Object.entries(args).map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join(", "));
  add(summary, "span", "outcome", "running");
}

function addResults(results) {
  close();
  const waiting = [...conversation.querySelectorAll(".call[data-state=running]")];
  if (!waiting.length) { // no batch, but the end of a turn with too many failures
    for (const result of results) note("error", readable(result.content ?? result.outcome));
    return;
  }
  results.forEach((result, index) => { // one for each call, in the order of the calls
    const card = waiting[index];
    const failed = result.status === "failure";
    card.dataset.state = failed ? "failure" : "success";
    const content = readable(result.content ?? ""); // logs of earlier versions have items without
    const isLine = content.length < 120 && !content.includes("\n");
    card.querySelector(".outcome").textContent = readable(result.outcome ?? (failed || isLine ? content : "done"));
    if (!failed && content && (result.outcome !== undefined || !isLine)) add(card, "pre", "content", content);
  });
}

const show = {
  user(content) {
    close();
    add(conversation, "section", "user", content);
  },
  think(content) {
    streamed("think").textContent += content;
  },
  respond(content) {
    streamed("respond").textContent += content;
  },
  call: (content) => addCall(JSON.parse(content)),
  result(content) {
    try {
      addResults([JSON.parse(content)].flat());
    } catch {
      note("error", content); // such as: Max failures. Terminating.
    }
  },
  error: (content, event) => note("error", UNREAD[event.kind] ?? content),
  end: close,
};

function showEvent(event) {
  const isAtBottom = innerHeight + scrollY >= document.body.scrollHeight - 40;
  show[event.type]?.(event.content ?? "", event);
  if (isAtBottom) scrollTo(0, document.body.scrollHeight);
}

/** Show the log, from its beginning. */
function showLog(rows) {
  conversation.replaceChildren();
  for (const row of rows) {
    close(); // a row is complete
    showEvent(row.type === "error" ? { ...row, ...JSON.parse(row.content) } : row);
  }
  close();
  for (const thought of conversation.querySelectorAll(".think")) thought.open = false;
  if (rows.length && rows.at(-1).type !== "respond") {
    note("stopped", "This turn ended without an answer. Text that was not finished is not in the log.");
  }
  scrollTo(0, document.body.scrollHeight);
}

// What comes from the server.

/** The events of a response, each as soon as it has arrived. */
async function* serverSent(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    const messages = (rest + chunk.value).split("\n\n");
    rest = messages.pop();
    for (const message of messages) {
      if (message.startsWith("data: ")) yield JSON.parse(message.slice("data: ".length));
    }
  }
}

async function fetched(...request) {
  const response = await fetch(...request);
  if (!response.ok) throw new Error(`The server answered: ${response.status} ${response.statusText}`);
  return response;
}

/** Show the log as soon as the server answers. A server that is away is asked again, less and less often. */
async function reload() {
  for (let seconds = 0.5; ; seconds = Math.min(2 * seconds, 10)) {
    try {
      const response = await fetched(address);
      showLog(await response.json());
      state.textContent = "";
      return;
    } catch {
      state.textContent = "No connection. Trying again …";
      await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
    }
  }
}

async function turn(query) {
  running = new AbortController();
  send.hidden = true;
  stop.hidden = false;
  state.textContent = "Answering …";
  showEvent({ type: "user", content: query });
  scrollTo(0, document.body.scrollHeight);
  const body = JSON.stringify({ text: query });
  const headers = { "Content-Type": "application/json" };
  try {
    const response = await fetched(address, { method: "POST", headers, body, signal: running.signal });
    for await (const event of serverSent(response)) showEvent(event);
    close();
    state.textContent = "";
  } catch (error) {
    // Stopped, or the connection was lost: either way the server has ended the turn, and the log says how.
    if (error instanceof TypeError || running.signal.aborted) await reload();
    else note("error", error.message);
  } finally {
    running = null;
    send.hidden = false;
    stop.hidden = true;
    text.focus();
  }
}

// What the reader does.

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const query = text.value.trim();
  if (running || !query) return;
  text.value = "";
  turn(query);
});
text.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    form.requestSubmit();
  }
});
stop.addEventListener("click", () => running?.abort());
find("new").addEventListener("click", () => {
  location.hash = crypto.randomUUID();
});
addEventListener("hashchange", () => location.reload());

await reload();
find("fields").disabled = false;
text.focus();
