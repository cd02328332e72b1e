// Files on their way into a message: they go to the blob store when it is sent.
import { useState } from "react";
import { ProblemError, problemOf } from "../api/client";
import type { ContentBlock } from "../api/types";
import { useSay } from "../i18n";
import { size } from "../text/Markdown";

export type Files = ReturnType<typeof useAttachments>;

export function useAttachments() {
  const [list, setList] = useState<File[]>([]);
  return {
    list,
    add: (files: FileList) => setList((before) => [...before, ...files]),
    remove: (file: File) => setList((before) => before.filter((each) => each !== file)),
    clear: () => setList([]),
    upload: () => Promise.all(list.map(upload)),
  };
}

async function upload(file: File): Promise<ContentBlock> {
  const answer = await fetch("/api/v1/blobs", { method: "POST", body: file, headers: { "content-type": "application/octet-stream" } });
  if (!answer.ok) {
    const problem = await answer.json().catch(() => undefined);
    throw new ProblemError({ ...problemOf(new Error(answer.statusText)), ...problem });
  }
  const blob = (await answer.json()) as { sha256: string; bytes: number };
  const mime = file.type || "application/octet-stream";
  return mime.startsWith("image/") ? { type: "image", blob, mime, name: file.name } : { type: "file", blob, mime, name: file.name };
}

export function AttachmentList({ files }: { files: Files }) {
  const say = useSay();
  if (files.list.length === 0) return null;
  return (
    <ul className="attachments">
      {files.list.map((file, index) => (
        <li key={index} className="file">
          {file.name} <span className="quiet">{size(file.size)}</span>
          <button type="button" className="plain" aria-label={say("composer.remove", { name: file.name })} onClick={() => files.remove(file)}>
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}
