/**
 * Where the access log goes: a file, or standard output.
 *
 * @module
 */

import { type FileHandle, open } from "node:fs/promises";
import process from "node:process";
import { YardmasterError } from "../errors.ts";
import type { LogSink } from "./access-log.ts";

/**
 * The sink for `accessLog` of a configuration.
 *
 * @throws {YardmasterError} LOG_FAILED: the file cannot be opened
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
  const append = () =>
    open(path, "a", 0o640).catch((cause) => {
      const message = `accessLog: ${path}: ${openingFault(cause)}`;
      throw new YardmasterError("LOG_FAILED", message, { cause });
    });
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

function openingFault({ code, message }: { readonly code?: string; readonly message: string }) {
  switch (code) {
    case "ENOENT":
      return "its folder does not exist";
    case "EISDIR":
      return "is a folder, not a file";
    case "EACCES":
    case "EPERM":
      return "permission denied";
    default:
      return code ?? message;
  }
}
