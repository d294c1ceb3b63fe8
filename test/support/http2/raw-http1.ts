/** A scripted HTTP/1.1 client: sends what it is given, to the letter. */

import type { Socket } from "node:net";
import { concatBytes, utf8 } from "../../../src/bytes.ts";
import { openSocket, type RawClientOptions } from "./raw-client.ts";
import { Watch } from "./watch.ts";

export interface Http1Response {
  readonly status: number;
  /** Lower-case names; each value that came. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly content: string;
  /** The content ended as its framing says, rather than with the connection. */
  readonly whole: boolean;
  get(name: string): string | undefined;
}

export class RawHttp1Client {
  readonly socket: Socket;
  /** All octets received, as Latin-1. */
  received = "";
  end: "fin" | "error" | undefined;
  readonly #watch = new Watch();

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (chunk: Uint8Array) => {
      this.received += latin1(chunk);
      this.#watch.changed();
    });
    socket.on("error", () => this.#over("error"));
    socket.on("end", () => this.#over("fin"));
    socket.on("close", () => this.#over("fin"));
  }

  static async connect(options: Pick<RawClientOptions, "port" | "tls">): Promise<RawHttp1Client> {
    return new RawHttp1Client(await openSocket(options, ["http/1.1"]));
  }

  /** Writes lines of a head, each ended by CRLF, the empty line, and the content. */
  send(lines: readonly string[], content = ""): void {
    this.socket.write(concatBytes(utf8(`${lines.join("\r\n")}\r\n\r\n`), utf8(content)));
  }

  write(text: string): void {
    this.socket.write(utf8(text));
  }

  /** Sends a request and takes the next response. */
  async fetch(lines: readonly string[], content = ""): Promise<Http1Response> {
    this.send(lines, content);
    return this.response((lines[0] ?? "").startsWith("HEAD "));
  }

  /** Takes the next final response off what came. */
  async response(toHead = false): Promise<Http1Response> {
    return this.#watch.until(
      "an HTTP/1.1 response",
      () => {
        const parsed = parse(this.received, toHead, this.end !== undefined);
        if (parsed === undefined) return undefined;
        this.received = this.received.slice(parsed.length);
        return parsed.response;
      },
      { state: () => `; came: ${JSON.stringify(this.received)}, end: ${this.end}` },
    );
  }

  /** Waits until what came, and was not taken as a response, matches. */
  came(pattern: RegExp): Promise<string> {
    return this.#watch.until(
      `${pattern}`,
      () => (pattern.test(this.received) ? this.received : undefined),
      { state: () => `; came: ${JSON.stringify(this.received)}, end: ${this.end}` },
    );
  }

  /** Waits for the end of the connection. */
  over(): Promise<"fin" | "error"> {
    return this.#watch.until("the end of the connection", () => this.end);
  }

  async close(): Promise<void> {
    this.socket.destroy();
    await this.over();
  }

  #over(how: "fin" | "error"): void {
    this.end ??= how;
    this.#watch.changed();
  }
}

function parse(
  text: string,
  toHead: boolean,
  ended: boolean,
): { readonly response: Http1Response; readonly length: number } | undefined {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const [first = "", ...lines] = text.slice(0, headEnd).split("\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1]);
  const start = headEnd + 4;
  if (status >= 100 && status < 200) {
    const rest = parse(text.slice(start), toHead, ended);
    return rest && { response: rest.response, length: start + rest.length };
  }
  const fields = lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
  });
  const get = (name: string) => fields.find(([known]) => known === name)?.[1];
  const answer = (content: string, whole: boolean, length: number) => ({
    response: { status, fields, content, whole, get },
    length,
  });
  if (toHead || status === 204 || status === 304) return answer("", true, start);
  if (get("transfer-encoding") === "chunked") {
    const chunks = unchunk(text, start);
    if (chunks !== undefined) return answer(chunks.content, true, chunks.end);
    return ended ? answer(text.slice(start), false, text.length) : undefined;
  }
  const length = get("content-length");
  if (length !== undefined && text.length >= start + Number(length)) {
    return answer(text.slice(start, start + Number(length)), true, start + Number(length));
  }
  return ended ? answer(text.slice(start), length === undefined, text.length) : undefined;
}

function unchunk(text: string, start: number): { content: string; end: number } | undefined {
  let content = "";
  for (let at = start; ; ) {
    const lineEnd = text.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(text.slice(at, lineEnd), 16);
    if (size === 0) {
      const end = text.indexOf("\r\n\r\n", lineEnd);
      return end < 0 ? undefined : { content, end: end + 4 };
    }
    const next = lineEnd + 2 + size + 2;
    if (text.length < next) return undefined;
    content += text.slice(lineEnd + 2, lineEnd + 2 + size);
    at = next;
  }
}

function latin1(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}
