// What a channel is called. One that this page has no word for is called by its own name.
import { keyOr, type Say } from "../i18n";

export function channelName(say: Say, channel: string): string {
  const key = keyOr(`people.channel.${channel}`, "people.channel.other");
  return key === "people.channel.other" ? channel.charAt(0).toUpperCase() + channel.slice(1) : say(key);
}
