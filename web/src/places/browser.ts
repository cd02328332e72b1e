// What a browser calls itself, in the two words that a person would use for it.

export function browserName(agent: string): string {
  const browser = /(Firefox|Edg|OPR|Chrome|Safari)/.exec(agent)?.[1]?.replace("Edg", "Edge").replace("OPR", "Opera");
  const system = /(iPhone|iPad|Android|Windows|Mac OS X|Linux)/.exec(agent)?.[1]?.replace("Mac OS X", "macOS");
  return [browser, system].filter(Boolean).join(" · ") || agent.slice(0, 60) || "?";
}
