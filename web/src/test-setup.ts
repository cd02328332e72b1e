// What modules expect of a browser as they are loaded.
const kept = new Map<string, string>();
Object.assign(globalThis, {
  localStorage: { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => kept.set(key, value) },
  navigator: { languages: ["en"] },
  document: { documentElement: {}, hidden: false },
});
