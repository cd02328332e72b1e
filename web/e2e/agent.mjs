// An agent that says exactly what a test wants: each prompt is a JSON list of what to send. It speaks just enough of the Agent
// Client Protocol for that. `{"say": "…"}` is a message, `{"stream": n, "every": ms, "piece": "…"}` a message in pieces,
// `{"items": n, "every": ms, "text": "…#…"}` n messages.
import { createInterface } from "node:readline";

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
let sessions = 0;

async function prompt({ sessionId, prompt }) {
  const piece = (text) =>
    send({
      method: "session/update",
      params: { sessionId, update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } } },
    });
  const tool = (toolCallId) =>
    send({
      method: "session/update",
      params: { sessionId, update: { sessionUpdate: "tool_call", toolCallId, title: "look", kind: "read", status: "completed" } },
    });
  const text = prompt.map((block) => block.text ?? "").join("\n");
  let steps;
  try {
    steps = JSON.parse(text.slice(text.indexOf("[")));
  } catch {
    steps = [{ say: `not a list: ${text}` }];
  }
  for (const step of steps) {
    if (step.say !== undefined) piece(step.say);
    // A tool call between two messages makes them two items.
    for (let made = 0; made < (step.items ?? 0); made++) {
      piece(step.text.replaceAll("#", made));
      tool(`call-${made}-${Math.random()}`);
      if (step.every) await pause(step.every);
    }
    if (step.repeat !== undefined) piece(step.repeat.repeat(step.times));
    for (let sent = 0; sent < (step.stream ?? 0); sent++) {
      piece(step.piece.replaceAll("#", sent));
      await pause(step.every);
    }
  }
  return { stopReason: "end_turn" };
}

const answers = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: { loadSession: false }, agentInfo: { name: "scripted", version: "1" }, authMethods: [] }),
  "session/new": () => ({ sessionId: `s${++sessions}` }),
  "session/prompt": prompt,
};

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined || !method) return;
  const answer = answers[method];
  if (answer) send({ id, result: await answer(params) });
  else send({ id, error: { code: -32601, message: `no ${method} here` } });
});
