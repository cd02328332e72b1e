// An agent's Markdown as elements of ours. There is no HTML in between, so there is nothing to sanitise: raw HTML is shown as
// text, pictures as links that nobody follows by themselves, links only where a person may go. While text streams in, only its
// last block is made again.
import { marked, type Token, type Tokens } from "marked";
import { Fragment, memo, useState, type ReactNode } from "react";
import { useSay } from "../i18n";
import { highlight } from "./highlight";
import { linkTarget, prose } from "./safe";

/** Longer text is shown as it is: no reader needs its formatting, and no parser gets to choke on it. */
const LONGEST = 60_000;
/** A line that is longer was not written for people. */
const LONGEST_LINE = 10_000;
/** So much of plain text at once. */
const CHUNK = 20_000;
/** Rows of a table at once. */
const ROWS = 100;

export function Markdown({ text }: { text: string }) {
  if (text.length > LONGEST || hasLongLine(text)) return <LongText text={text} />;
  return (
    <div className="prose" dir="auto">
      {marked.lexer(prose(text)).map((token, index) => (
        <Block key={index} raw={token.raw} token={token} />
      ))}
    </div>
  );
}

function hasLongLine(text: string): boolean {
  for (let from = 0; ; ) {
    const to = text.indexOf("\n", from);
    if ((to < 0 ? text.length : to) - from > LONGEST_LINE) return true;
    if (to < 0) return false;
    from = to + 1;
  }
}

/** Plain text, a piece at a time. */
export function LongText({ text }: { text: string }) {
  const say = useSay();
  const [shown, setShown] = useState(CHUNK);
  return (
    <div>
      <pre className="plain-text">{prose(text.slice(0, shown))}</pre>
      {shown < text.length && (
        <button type="button" className="plain more" onClick={() => setShown(shown + 10 * CHUNK)}>
          {say("entry.more", { size: size(text.length) })}
        </button>
      )}
    </div>
  );
}

export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${Math.round(bytes / 1024)} KB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

/** What it says decides what it shows: an earlier block of a streaming message is not made again. */
const Block = memo(
  function Block({ token }: { raw: string; token: Token }) {
    return block(token);
  },
  (before, after) => before.raw === after.raw && before.token.type === after.token.type,
);

function block(token: Token): ReactNode {
  switch (token.type) {
    case "heading": {
      const Heading = `h${Math.min(token.depth + 2, 6)}` as "h3";
      return <Heading>{inline(token.tokens)}</Heading>;
    }
    case "paragraph":
      return <p>{inline(token.tokens)}</p>;
    case "text":
      return <>{token.tokens ? inline(token.tokens) : token.text}</>;
    case "code":
      return <Code code={token.text} language={token.lang ?? ""} />;
    case "blockquote":
      return <blockquote>{blocks(token.tokens)}</blockquote>;
    case "list": {
      const List = token.ordered ? "ol" : "ul";
      return (
        <List {...(token.ordered && token.start !== 1 ? { start: Number(token.start) } : {})}>
          {(token as Tokens.List).items.map((item, index) => (
            <li key={index} className={item.task ? "check" : undefined}>
              {item.task && <span aria-hidden="true">{item.checked ? "☑ " : "☐ "}</span>}
              {blocks(item.tokens.filter((inner) => inner.type !== "checkbox"))}
            </li>
          ))}
        </List>
      );
    }
    case "table":
      return <Table table={token as Tokens.Table} />;
    case "hr":
      return <hr />;
    case "space":
    case "def":
      return null;
    default:
      return <p>{token.raw}</p>;
  }
}

function blocks(tokens: Token[] | undefined): ReactNode {
  return tokens?.map((token, index) => <Fragment key={index}>{block(token)}</Fragment>);
}

function inline(tokens: Token[] | undefined): ReactNode {
  return tokens?.map((token, index) => <Fragment key={index}>{span(token)}</Fragment>);
}

function span(token: Token): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{inline(token.tokens)}</strong>;
    case "em":
      return <em>{inline(token.tokens)}</em>;
    case "del":
      return <del>{inline(token.tokens)}</del>;
    case "codespan":
      return <code>{token.text}</code>;
    case "br":
      return <br />;
    case "link":
      return <Link href={token.href}>{inline(token.tokens)}</Link>;
    case "image":
      return <Picture href={token.href} alt={token.text} />;
    case "text":
    case "escape":
      return "tokens" in token && token.tokens ? inline(token.tokens) : token.text;
    default:
      return token.raw;
  }
}

function Link({ href, children }: { href: string; children: ReactNode }) {
  const target = linkTarget(href);
  if (!target) return <>{children}</>;
  return (
    <a href={target} title={target} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

/** A picture from elsewhere would tell its server who reads this, and when. */
function Picture({ href, alt }: { href: string; alt: string }) {
  const say = useSay();
  return <Link href={href}>{say("entry.image", { alt: alt || href })}</Link>;
}

export function Code({ code, language }: { code: string; language: string }) {
  return (
    <pre className="code" tabIndex={0}>
      <code>
        {highlight(code, language).map((piece, index) =>
          piece.kind === "plain" ? piece.text : <span key={index} className={`hl-${piece.kind}`}>{piece.text}</span>,
        )}
      </code>
    </pre>
  );
}

function Table({ table }: { table: Tokens.Table }) {
  const say = useSay();
  const [shown, setShown] = useState(ROWS);
  return (
    <div className="table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {table.header.map((cell, index) => (
              <th key={index}>{inline(cell.tokens)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.slice(0, shown).map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column}>{inline(cell.tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {shown < table.rows.length && (
        <button type="button" className="plain more" onClick={() => setShown(shown + 10 * ROWS)}>
          {say("entry.more", { size: table.rows.length })}
        </button>
      )}
    </div>
  );
}
