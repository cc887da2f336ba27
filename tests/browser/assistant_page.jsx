// A chat page on assistant-ui over the served graph: the least that shows a conversation, asks, and decides.
import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
  useAuiState,
} from "@assistant-ui/react";
import {
  unstable_createLangGraphStream as createStream,
  useLangGraphInterruptState,
  useLangGraphRuntime,
  useLangGraphSendCommand,
} from "@assistant-ui/react-langgraph";
import { Client } from "@langchain/langgraph-sdk";
import { createRoot } from "react-dom/client";

const given = new URLSearchParams(location.search);
const client = new Client({ apiUrl: given.get("server"), apiKey: given.get("key") ?? undefined });
const stream = createStream({ client, assistantId: given.get("assistant") ?? "stepwell" });
const PICTURE = /!\[(.*?)\]\((\S+?)\)/g;

function Said({ text }) {
  return (
    <div data-part="text">
      {text}
      {[...text.matchAll(PICTURE)].map(([, alt, src]) => <img key={src} alt={alt} src={src} />)}
    </div>
  );
}

function Called({ toolName, args, result }) {
  return (
    <details data-part="call" open>
      <summary>{toolName}: {args.purpose}</summary>
      <pre>{args.code}</pre>
      <pre data-part="result">{typeof result === "string" ? result : JSON.stringify(result)}</pre>
    </details>
  );
}

function Message({ type }) {
  return (
    <MessagePrimitive.Root asChild>
      <li data-type={type}>
        <MessagePrimitive.Parts components={{ Text: Said, tools: { Fallback: Called } }} />
      </li>
    </MessagePrimitive.Root>
  );
}

const Asked = () => <Message type="human" />;
const Answered = () => <Message type="ai" />;

function Decision() {
  const asked = useLangGraphInterruptState()?.value;
  const send = useLangGraphSendCommand();
  if (!asked) return null;
  const decide = (decision) => send({ resume: { decisions: [decision] } });
  return (
    <section aria-label="Approval">
      <pre>{asked.action_requests[0].args.code}</pre>
      <button onClick={() => decide({ type: "approve" })}>Approve</button>
      <button onClick={() => decide({ type: "reject", message: "Not so." })}>Reject</button>
    </section>
  );
}

function Status() {
  return <p role="status">{useAuiState((state) => state.thread.isRunning) ? "working" : "ready"}</p>;
}

function Page() {
  const runtime = useLangGraphRuntime({
    stream,
    create: async () => ({ externalId: (await client.threads.create()).thread_id }),
    load: async (thread) => ({ messages: (await client.threads.getState(thread)).values.messages ?? [] }),
  });
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <ThreadPrimitive.Root>
        <ol>
          <ThreadPrimitive.Messages components={{ UserMessage: Asked, AssistantMessage: Answered }} />
        </ol>
        <Decision />
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input aria-label="Question" />
          <ComposerPrimitive.Send>Ask</ComposerPrimitive.Send>
        </ComposerPrimitive.Root>
        <Status />
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

createRoot(document.getElementById("page")).render(<Page />);
