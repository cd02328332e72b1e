// How the page is built: one entry, hashed names under assets/, each text file also as .gz for the embedding crate.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const DAEMON = "http://127.0.0.1:7878";
const SQUEEZABLE = /\.(js|css|html|svg|webmanifest)$/;

function squeeze(): Plugin {
  let folder = "dist";
  return {
    name: "squeeze",
    apply: "build",
    configResolved(config) {
      folder = config.build.outDir;
    },
    closeBundle() {
      for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
        if (!SQUEEZABLE.test(name)) continue;
        const bytes = readFileSync(join(folder, name));
        const gzip = gzipSync(bytes, { level: 9 });
        if (gzip.length < bytes.length) writeFileSync(join(folder, `${name}.gz`), gzip);
      }
    },
  };
}

export default defineConfig({
  plugins: [squeeze()],
  oxc: { jsx: { runtime: "automatic" } },
  build: {
    // Libraries mark their modules for servers; there is none here.
    rolldownOptions: { checks: { moduleLevelDirective: false } },
    target: "es2022", modulePreload: { polyfill: false }, assetsInlineLimit: 0, emptyOutDir: true },
  // `npm run dev` serves the page; the daemon of `tl serve --listen 127.0.0.1:7878` answers the rest.
  server: { proxy: { "/api": { target: DAEMON, ws: true, changeOrigin: true, headers: { origin: DAEMON } } } },
});
