/**
 * Where the access log goes: a file, or standard output.
 *
 * @module
 */

import { type FileHandle, open } from "node:fs/promises";
import process from "node:process";
import type { LogSink } from "./access-log.ts";

/**
 * The sink for `accessLog` of a configuration.
 *
 * @throws what opening the file throws
 */
export function openSink(path: string): Promise<LogSink> {
  return path === "-" ? Promise.resolve(standardOutput()) : fileSink(path);
}

function standardOutput(): LogSink {
  return {
    write: (text) =>
      new Promise((resolve, reject) => {
        process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
      }),
    reopen: async () => {},
    close: async () => {},
  };
}

async function fileSink(path: string): Promise<LogSink> {
  // Whoever reads it learns which clients asked for what, and when.
  const append = () => open(path, "a", 0o640);
  let file: FileHandle = await append();
  return {
    async write(text) {
      await file.appendFile(text);
    },
    async reopen() {
      const next = await append();
      const before = file;
      file = next;
      await before.close();
    },
    close: () => file.close(),
  };
}
