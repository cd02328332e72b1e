// Unit tests of what is pure: no browser, no daemon.
import { defineConfig } from "vitest/config";

export default defineConfig({ test: { include: ["src/**/*.test.{ts,tsx}"], setupFiles: ["src/test-setup.ts"] } });
