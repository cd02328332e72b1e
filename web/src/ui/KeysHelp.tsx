// All keys, in one place.
import { useSay, type Key } from "../i18n";
import { Dialog } from "./Dialog";

const KEYS: [string, Key][] = [
  ["j", "keys.next"],
  ["k", "keys.previous"],
  ["Enter", "keys.open"],
  ["a", "keys.approve"],
  ["/", "keys.search"],
  ["r", "keys.say"],
  ["⌘K", "keys.palette"],
  ["Esc", "keys.back"],
  ["?", "keys.help"],
];

export function KeysHelp({ onClose }: { onClose: () => void }) {
  const say = useSay();
  return (
    <Dialog title={say("keys.title")} onClose={onClose}>
      <dl className="keys">
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{say(what)}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
