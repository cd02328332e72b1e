// Writes src/api/schema.d.ts from the OpenAPI document of a running daemon: a `tl` is started in a home of its own, asked, and
// stopped. TL names the binary; the debug build if it is not set. The file is not committed: it cannot be stale.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import openapi, { astToString } from "openapi-typescript";

const tl = resolve(process.env.TL ?? join(process.env.CARGO_TARGET_DIR ?? "../target", "debug/tl"));
const home = mkdtempSync(join(tmpdir(), "tl-types-"));
const daemon = spawn(tl, ["serve"], { env: { ...process.env, THROUGHLINE_HOME: home }, stdio: ["ignore", "pipe", "ignore"] });
try {
  await new Promise((ready, failed) => {
    daemon.stdout.on("data", (text) => String(text).includes("listening") && ready());
    daemon.on("error", failed);
    daemon.on("exit", () => failed(new Error(`${tl} serve ended`)));
  });
  const document = await new Promise((done, failed) => {
    get({ socketPath: join(home, "tl.sock"), path: "/api/v1/openapi.json", headers: { host: "localhost" } }, (answer) => {
      let text = "";
      answer.on("data", (piece) => (text += piece)).on("end", () => done(JSON.parse(text)));
    }).on("error", failed);
  });
  writeFileSync("src/api/schema.d.ts", astToString(await openapi(document)));
} finally {
  daemon.removeAllListeners("exit");
  daemon.kill("SIGTERM");
  await new Promise((gone) => (daemon.exitCode === null ? daemon.on("exit", gone) : gone()));
  rmSync(home, { recursive: true, force: true });
}
