// Content blocks, and texts of which only the head came: the rest is fetched when somebody asks for it.
import { useEffect, useState, type ReactNode } from "react";
import type { ContentBlock, Text } from "../api/types";
import { useSay } from "../i18n";
import { Markdown, size } from "../text/Markdown";
import { prose } from "../text/safe";
import { tellProblem } from "../ui/notice";

export async function blobText(sha256: string): Promise<string> {
  const answer = await fetch(`/api/v1/blobs/${sha256}`);
  if (!answer.ok) throw new Error(answer.statusText);
  return answer.text();
}

export function WholeText({ text, children }: { text: Text; children: (text: string) => ReactNode }) {
  const say = useSay();
  const [whole, setWhole] = useState<string>();
  const [loading, setLoading] = useState(false);
  const blob = text.blob;
  const load = async () => {
    if (!blob) return;
    setLoading(true);
    try {
      setWhole(await blobText(blob.sha256));
    } catch (error) {
      tellProblem(error);
    } finally {
      setLoading(false);
    }
  };
  return (
    <>
      {children(whole ?? text.text)}
      {blob && whole === undefined && (
        <button type="button" className="plain more" disabled={loading} onClick={() => void load()}>
          {loading ? say("entry.more.loading") : say("entry.more", { size: size(blob.bytes ?? 0) })}
        </button>
      )}
    </>
  );
}

export function Blocks({ blocks }: { blocks: ContentBlock[] }) {
  return (
    <>
      {blocks.map((block, index) =>
        block.type === "text" ? (
          <WholeText key={index} text={block}>
            {(text) => <Markdown text={text} />}
          </WholeText>
        ) : null,
      )}
      <Attachments blocks={blocks} />
    </>
  );
}

export function Attachments({ blocks }: { blocks: ContentBlock[] }) {
  const files = blocks.filter((block) => block.type !== "text");
  if (files.length === 0) return null;
  return (
    <ul className="attachments">
      {files.map((block, index) => (
        <li key={index}>{block.type === "image" ? <Picture block={block} /> : <File block={block} />}</li>
      ))}
    </ul>
  );
}

const SHOWN = /^image\/(png|jpeg|gif|webp|avif)$/;

/** Bytes of our own store, shown as a picture and as nothing else. */
function Picture({ block }: { block: Extract<ContentBlock, { type: "image" }> }) {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (!SHOWN.test(block.mime)) return;
    let made: string | undefined;
    let gone = false;
    void fetch(`/api/v1/blobs/${block.blob.sha256}`)
      .then((answer) => (answer.ok ? answer.arrayBuffer() : Promise.reject(new Error(answer.statusText))))
      .then((bytes) => {
        if (gone) return;
        made = URL.createObjectURL(new Blob([bytes], { type: block.mime }));
        setUrl(made);
      })
      .catch(() => undefined);
    return () => {
      gone = true;
      if (made) URL.revokeObjectURL(made);
    };
  }, [block.blob.sha256, block.mime]);
  const name = prose(block.name ?? block.mime);
  return url ? <img src={url} alt={name} /> : <span className="file">{name}</span>;
}

function File({ block }: { block: Extract<ContentBlock, { type: "file" }> }) {
  return (
    <a className="file" href={`/api/v1/blobs/${block.blob.sha256}`} download={block.name}>
      {prose(block.name)} <span className="quiet">{size(block.blob.bytes ?? 0)}</span>
    </a>
  );
}
