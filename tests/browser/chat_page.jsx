// The least that a chat page on LangChain's `useStream` does: it shows the conversation, asks, and decides.
import { useStream } from "@langchain/langgraph-sdk/react";
import { LoadExternalComponent, isUIMessage, uiMessageReducer } from "@langchain/langgraph-sdk/react-ui";
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { Figure, Markdown, Table } from "./components";

const given = new URLSearchParams(location.search);
const [apiUrl, apiKey] = [given.get("server"), given.get("key") ?? undefined];
const components = { figure: Figure, table: Table };
const ui = given.get("ui")?.split(",");
const context = { review: "never", approval: given.get("approval") ?? "none", ...(ui && { ui }) };
window.seen = { blank: 0, twice: 0, texts: [] };

function text(message) {
  if (typeof message.content === "string") return message.content;
  return message.content.map((part) => part.text ?? "").join("");
}

function watch(messages, isLoading) {
  const ids = messages.map((message) => message.id);
  if (isLoading && messages.length === 0 && window.seen.texts.length > 0) window.seen.blank += 1;
  if (new Set(ids).size < ids.length) window.seen.twice += 1;
  for (const message of messages) {
    const said = `${message.type}: ${text(message)}${JSON.stringify(message.tool_calls ?? [])}`;
    if (!window.seen.texts.includes(said)) window.seen.texts.push(said);
  }
}

function Decision({ request, resume }) {
  const decide = (decision) => resume({ decisions: [decision] });
  return (
    <section aria-label="Approval">
      <pre>{request.action_requests[0].args.code}</pre>
      <button onClick={() => decide({ type: "approve" })}>Approve</button>
      <button onClick={() => decide({ type: "reject", message: "Not so." })}>Reject</button>
    </section>
  );
}

function Components({ stream, message }) {
  const ours = (stream.values.ui ?? []).filter((one) => one.metadata?.message_id === message.id);
  return ours.map((one) => <LoadExternalComponent key={one.id} stream={stream} message={one} components={components} />);
}

function Page() {
  const [threadId, setThreadId] = useState(given.get("thread"));
  const [question, setQuestion] = useState("");
  const stream = useStream({
    apiUrl, apiKey, assistantId: "stepwell", threadId, onThreadId: setThreadId,
    onCustomEvent: (event, { mutate }) => {
      if (isUIMessage(event)) mutate((before) => ({ ...before, ui: uiMessageReducer(before.ui ?? [], event) }));
    },
  });
  useEffect(() => watch(stream.messages, stream.isLoading));
  const ask = (event) => {
    event.preventDefault();
    const message = { id: crypto.randomUUID(), type: "human", content: question };
    setQuestion("");
    stream.submit({ messages: [message] }, {
      context,
      optimisticValues: (before) => ({ ...before, messages: [...(before.messages ?? []), message] }),
    });
  };
  const asked = stream.interrupt?.value;
  return (
    <main>
      <ol>
        {stream.messages.map((message, index) => (
          <li key={message.id ?? index} data-type={message.type} data-calls={message.tool_calls?.length ?? 0}>
            <Markdown text={text(message)} />
            <Components stream={stream} message={message} />
          </li>
        ))}
      </ol>
      {asked && <Decision request={asked} resume={(resume) => stream.submit(undefined, { command: { resume }, context })} />}
      {stream.error && <p role="alert">{String(stream.error.message ?? stream.error)}</p>}
      <form onSubmit={ask}>
        <input aria-label="Question" value={question} onChange={(event) => setQuestion(event.target.value)} />
        <button disabled={stream.isLoading}>Ask</button>
      </form>
      <p id="thread">{threadId}</p>
      <p role="status">{stream.isLoading ? "working" : "ready"}</p>
    </main>
  );
}

createRoot(document.getElementById("page")).render(<Page />);
