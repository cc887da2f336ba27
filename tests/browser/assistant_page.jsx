// The least that a chat page on assistant-ui does: it shows the conversation, asks with files, and decides.
import {
  AssistantRuntimeProvider, ComposerPrimitive, MessagePrimitive, ThreadPrimitive, useAuiState,
} from "@assistant-ui/react";
import {
  unstable_createLangGraphStream as createStream, useLangGraphInterruptState, useLangGraphRuntime, useLangGraphSendCommand,
} from "@assistant-ui/react-langgraph";
import { Client } from "@langchain/langgraph-sdk";
import { createRoot } from "react-dom/client";
import { Figure, Markdown, Table, inBase64 } from "./components";

const given = new URLSearchParams(location.search);
const client = new Client({ apiUrl: given.get("server"), apiKey: given.get("key") ?? undefined });
const stream = createStream({ client, assistantId: given.get("assistant") ?? "stepwell" });

const attachments = {
  accept: "*",
  add: async ({ file }) => ({ id: file.name, type: "file", name: file.name, file, status: { type: "requires-action" } }),
  remove: async () => {},
  send: async (one) => {
    const part = { type: "file", filename: one.name, mimeType: one.file.type, data: await inBase64(one.file) };
    return { ...one, status: { type: "complete" }, content: [part] };
  },
};
const threads = {
  list: async () => ({ threads: [] }),
  fetch: async (thread) => ({ status: "regular", remoteId: thread, externalId: thread }),
  initialize: async () => threads.fetch((await client.threads.create()).thread_id),
  generateTitle: async () => new ReadableStream({ start: (title) => title.close() }),
};
const renderers = { figure: ({ data }) => <Figure {...data} />, table: ({ data }) => <Table {...data} /> };

function Called({ toolName, args, result, isError }) {
  return (
    <details data-part="call" data-failed={Boolean(isError)} open>
      <summary>{toolName}: {args.purpose}</summary>
      <pre>{args.code}</pre>
      <pre data-part="result">{typeof result === "string" ? result : JSON.stringify(result)}</pre>
    </details>
  );
}

const PARTS = { Text: Markdown, tools: { Fallback: Called } };
const Message = ({ type }) => (
  <MessagePrimitive.Root asChild>
    <li data-type={type}><MessagePrimitive.Parts components={PARTS} /></li>
  </MessagePrimitive.Root>
);
const MESSAGES = { UserMessage: () => <Message type="human" />, AssistantMessage: () => <Message type="ai" /> };

function Decision() {
  const asked = useLangGraphInterruptState()?.value;
  const send = useLangGraphSendCommand();
  if (!asked) return null;
  const decide = (decision) => send({ resume: { decisions: [decision] } });
  return (
    <section aria-label="Approval">
      <p>{asked.ask}</p>
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
    uiComponents: { renderers },
    adapters: { attachments },
    threadId: given.get("thread") ?? undefined,
    unstable_threadListAdapter: threads,
    load: async (thread) => {
      const { values, tasks } = await client.threads.getState(thread);
      const interrupts = tasks.flatMap((task) => task.interrupts);
      return { messages: values.messages ?? [], uiMessages: values.ui ?? [], interrupts };
    },
  });
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <ThreadPrimitive.Root>
        <ol><ThreadPrimitive.Messages components={MESSAGES} /></ol>
        <Decision />
        <ComposerPrimitive.Root>
          <ComposerPrimitive.AddAttachment>Attach</ComposerPrimitive.AddAttachment>
          <ComposerPrimitive.Input aria-label="Question" />
          <ComposerPrimitive.Send>Ask</ComposerPrimitive.Send>
        </ComposerPrimitive.Root>
        <Status />
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

createRoot(document.getElementById("page")).render(<Page />);
