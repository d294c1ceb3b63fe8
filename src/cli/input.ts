/**
 * Reading what a command is given: a file, or standard input for `-`. Every failure is one clear
 * line with the name of the file.
 *
 * @module
 */

import { constants, createReadStream } from "node:fs";
import { access, stat } from "node:fs/promises";
import process from "node:process";
import { InputError } from "./errors.ts";
import { messageStyle, tell } from "./terminal.ts";

/** Larger than any snapshot that instances accept; keeps a wrong path from filling the memory. */
const MAXIMUM_BYTES = 64 * 1024 * 1024;

/** How messages name a source: the path as it was typed, `standard input` for `-`. */
export function sourceName(path: string): string {
  return path === "-" ? "standard input" : path;
}

/**
 * All bytes of a file, or of standard input where `path` is `-`.
 *
 * @throws {InputError} there is no such file, it is not readable, or it is too large
 */
export async function readBytes(path: string): Promise<Uint8Array> {
  if (path === "-" && process.stdin.isTTY) {
    tell(messageStyle().dim("reading from the terminal; end the input with Ctrl-D"));
  }
  const stream = path === "-" ? process.stdin : createReadStream(path);
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Uint8Array>) {
      length += chunk.length;
      if (length > MAXIMUM_BYTES) {
        throw new InputError(`${sourceName(path)}: larger than ${MAXIMUM_BYTES} bytes`);
      }
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof InputError ? error : unreadable(sourceName(path), error);
  }
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

/**
 * Looks whether a file could be read, without reading any of it.
 *
 * @throws {InputError} it is not there, is a directory, or is not readable
 */
export async function expectReadable(path: string): Promise<void> {
  try {
    await access(path, constants.R_OK);
    if ((await stat(path)).isDirectory()) {
      throw Object.assign(new Error("a directory"), { code: "EISDIR" });
    }
  } catch (error) {
    throw unreadable(path, error);
  }
}

/**
 * A file (or standard input) as text, without a leading byte order mark.
 *
 * @throws {InputError} as {@link readBytes}, or the bytes are not UTF-8
 */
export async function readText(path: string): Promise<string> {
  const bytes = await readBytes(path);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new InputError(`${sourceName(path)}: not UTF-8 text`, error);
  }
}

/** One line for a file that the system refuses to read. */
export function unreadable(name: string, error: unknown): InputError {
  const code = (error as { code?: unknown } | undefined)?.code;
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: "no such file",
    EISDIR: "is a directory, not a file",
    ENOTDIR: "a part of the path is not a directory",
    EACCES: "permission denied",
    EPERM: "permission denied",
    ELOOP: "too many symbolic links",
    ENAMETOOLONG: "the name is too long",
  };
  const reason = typeof code === "string" ? (reasons[code] ?? code) : "cannot be read";
  return new InputError(`${name}: ${reason}`, error);
}
