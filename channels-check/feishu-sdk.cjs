// The platform's own SDK (@larksuiteoapi/node-sdk) as a client of our stub: everything that our channel uses too.
//
// Takes one JSON document as its argument and prints one JSON line for each thing that it did. After "listening" it
// stays connected until it has seen as many events as it was told to expect; an event whose text is "no" is refused
// once.
const lark = require("@larksuiteoapi/node-sdk");

const asked = JSON.parse(process.argv[2]);
const print = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
// Standard output is for what was done.
const log = (...words) => console.error(...words);
const quiet = { logger: { error: log, warn: log, info: log, debug: log, trace: log } };
const app = { appId: asked.appId, appSecret: asked.appSecret, domain: asked.url, ...quiet };

const card = (text) =>
  JSON.stringify({
    schema: "2.0",
    config: { update_multi: true },
    body: { elements: [{ tag: "markdown", content: text }] },
  });

async function messages(client) {
  const { message, messageResource, file } = client.im.v1;
  const sent = await message.create({
    params: { receive_id_type: "chat_id" },
    data: { receive_id: asked.chat, msg_type: "interactive", content: card("working"), uuid: "u-1" },
  });
  print({ sent: sent.data.message_id, chat: sent.data.chat_id });
  const again = await message.create({
    params: { receive_id_type: "chat_id" },
    data: { receive_id: asked.chat, msg_type: "interactive", content: card("working"), uuid: "u-1" },
  });
  print({ again: again.data.message_id });
  const path = { message_id: sent.data.message_id };
  const patched = await message.patch({ path, data: { content: card("done") } });
  print({ patched: patched.code });
  const replied = await message.reply({
    path,
    data: { msg_type: "text", content: JSON.stringify({ text: "there" }), reply_in_thread: true },
  });
  print({ replied: replied.data.message_id, thread: replied.data.thread_id, root: replied.data.root_id });
  const put = await file.create({
    data: { file_type: "stream", file_name: "a.txt", file: Buffer.from("the file's bytes") },
  });
  const found = await messageResource.get({
    path: { ...path, file_key: put.file_key },
    params: { type: "file" },
  });
  const chunks = [];
  for await (const chunk of found.getReadableStream()) chunks.push(chunk);
  print({ file: Buffer.concat(chunks).toString() });
  // A refusal comes with a code that the SDK understands.
  const refused = await message
    .create({
      params: { receive_id_type: "chat_id" },
      data: { receive_id: "oc_none", msg_type: "text", content: JSON.stringify({ text: "x" }) },
    })
    .catch((error) => error.response.data);
  print({ refused: refused.code });
}

async function callback() {
  const { encryptKey, timestamp, nonce, signature, body, challenge } = asked.callback;
  const heard = [];
  const dispatcher = new lark.EventDispatcher({ encryptKey, ...quiet }).register({
    "im.message.receive_v1": async (event) => heard.push(JSON.parse(event.message.content).text),
  });
  const headers = {
    "x-lark-request-timestamp": timestamp,
    "x-lark-request-nonce": nonce,
    "x-lark-signature": signature,
  };
  await dispatcher.invoke(Object.assign(Object.create({ headers }), JSON.parse(body)));
  const forged = { ...headers, "x-lark-signature": signature.replace(/./g, "0") };
  await dispatcher.invoke(Object.assign(Object.create({ headers: forged }), JSON.parse(body)));
  print({ callback: heard, challenge: lark.generateChallenge(JSON.parse(challenge), { encryptKey }) });
}

async function listen() {
  let seen = 0;
  let refused = false;
  const socket = new lark.WSClient({
    ...app,
    onReady: () => print({ listening: true }),
    onReconnected: () => print({ reconnected: true }),
  });
  const see = (value) => {
    print(value);
    seen += 1;
    // The acknowledgement goes out after this returns.
    if (seen === asked.events) setTimeout(() => process.exit(0), 500);
  };
  const dispatcher = new lark.EventDispatcher(quiet).register({
    "im.message.receive_v1": async (event) => {
      const { text } = JSON.parse(event.message.content);
      if (text === "no" && !refused) {
        refused = true;
        throw new Error("not this time");
      }
      see({ said: text, by: event.sender.sender_id.open_id, chat: event.message.chat_id });
    },
    "card.action.trigger": async (event) => {
      see({ pressed: event.action.value, under: event.context.open_message_id });
      return { toast: { type: "info", content: "seen" } };
    },
  });
  await socket.start({ eventDispatcher: dispatcher });
}

async function main() {
  await messages(new lark.Client(app));
  await callback();
  await listen();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
