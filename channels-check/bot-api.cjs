// A Bot API server that others wrote (telegram-test-api), and a person who uses it.
//
// Prints its address, then does what each line of stdin says and answers with one line:
//   {"say": text}     the person writes to the bot
//   {"press": data}   the person presses a button under the bot's last message
//   {"look": n}       once the bot has sent at least n messages: all of them as they are now
const { createInterface } = require("node:readline");
const TelegramServer = require("telegram-test-api");

const [token] = process.argv.slice(2);
const print = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

const messages = (server) =>
  server.storage.botMessages.map(({ messageId, message }) => ({ messageId, ...message }));

async function main() {
  const server = new TelegramServer({ host: "127.0.0.1", storeTimeout: 600 });
  // The port is the system's choice, which its settings do not allow.
  server.config.port = 0;
  await server.start();
  const url = `http://127.0.0.1:${server.server.address().port}`;
  server.config.apiURL = url;
  const person = server.getClient(token, { userId: 42, chatId: 42 });
  print({ url });
  for await (const line of createInterface({ input: process.stdin })) {
    const order = JSON.parse(line);
    if ("say" in order) {
      await person.sendMessage(person.makeMessage(order.say));
    } else if ("press" in order) {
      const last = server.storage.botMessages.at(-1);
      await person.sendCallback(person.makeCallbackQuery(order.press, { message: { message_id: last.messageId } }));
    } else {
      while (server.storage.botMessages.length < order.look) await server.waitBotMessage();
    }
    print(messages(server));
  }
  await server.stop();
}

main().then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
