// Text of others, made harmless to the eye: characters that hide, reorder or pretend are shown as what they are.

// Controls but tab and line break; bidirectional marks, embeddings, overrides and isolates; zero-width and other invisible ones.
const SNEAKY = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
// In prose, joiners belong to scripts and emoji; only what reorders or controls is shown.
const REORDERING = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/gu;

const shown = (character: string) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

/** Every character visible: for what somebody is about to approve. */
export function exact(text: string): string {
  return text.replace(SNEAKY, (character) => (character === "\r" ? "\\r" : shown(character)));
}

/** For prose: nothing reorders the line that it stands in. */
export function prose(text: string): string {
  return text.replace(REORDERING, shown);
}

/** A link's target, if it is one that a person may follow. */
export function linkTarget(href: string): string | undefined {
  try {
    const url = new URL(href);
    return /^(https?|mailto):$/.test(url.protocol) ? url.href : undefined;
  } catch {
    return undefined;
  }
}
