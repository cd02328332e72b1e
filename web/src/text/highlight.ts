// Colours for code: comments, strings, numbers and the words that most languages share. No grammar, so it is never wrong
// about more than one word, costs a few hundred bytes, and is linear in the text.

export type Piece = { kind: "plain" | "comment" | "string" | "number" | "word"; text: string };

const WORDS = new Set(
  (
    "abstract and as async await begin bool boolean break case catch char class const continue crate def default defer del delete do " +
    "double dyn elif else end enum except export extends extern false final finally float fn for foreach from func function global go " +
    "goto if impl implements import in int interface is lambda let long loop match mod module move mut namespace new nil none None not " +
    "null or package pass private protected pub public raise ref return select self Self short static string struct super switch then " +
    "this throw throws trait true True False try type typeof undefined union unsafe until use using var void volatile when where while " +
    "with yield"
  ).split(" "),
);
const HASH = new Set(["sh", "bash", "zsh", "shell", "console", "python", "py", "ruby", "rb", "toml", "yaml", "yml", "r", "perl", "make", "dockerfile"]);
const DASHES = new Set(["sql", "lua", "haskell", "hs", "ada"]);
const PLAIN = new Set(["", "text", "txt", "plain", "md", "markdown", "diff"]);
/** Longer code is shown without colours. */
const LONGEST = 20_000;

export function highlight(code: string, language: string): Piece[] {
  const name = language.toLowerCase();
  if (PLAIN.has(name) || code.length > LONGEST) return [{ kind: "plain", text: code }];
  const comment = HASH.has(name) ? "#[^\\n]*" : DASHES.has(name) ? "--[^\\n]*" : "//[^\\n]*|/\\*[\\s\\S]*?(?:\\*/|$)";
  const token = new RegExp(
    `(${comment})|("(?:[^"\\\\\\n]|\\\\.)*"?|'(?:[^'\\\\\\n]|\\\\.)*'|\`(?:[^\`\\\\]|\\\\.)*\`?)|\\b(\\d[\\w.]*)|([A-Za-z_][\\w]*)`,
    "g",
  );
  const pieces: Piece[] = [];
  const push = (kind: Piece["kind"], text: string) => {
    const last = pieces.at(-1);
    if (last?.kind === kind) last.text += text;
    else if (text) pieces.push({ kind, text });
  };
  let end = 0;
  for (const match of code.matchAll(token)) {
    push("plain", code.slice(end, match.index));
    const [text, comment, string, number] = match;
    push(comment ? "comment" : string ? "string" : number ? "number" : WORDS.has(text) ? "word" : "plain", text);
    end = match.index + text.length;
  }
  push("plain", code.slice(end));
  return pieces;
}
