/** A scripted Redis peer: the few commands that a store uses, in RESP2, over items in memory. */

export interface RedisPeer {
  readonly port: number;
  /** What the peer holds. */
  readonly items: Map<string, Uint8Array>;
  /** Names of the commands that came, in lower case. */
  readonly commands: string[];
  /** Ends it and every connection to it. */
  stop(): void;
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** Takes one command off the front of `input`: an array of bulk strings. */
function takeCommand(input: Buffer): { words: Uint8Array[]; rest: Buffer } | undefined {
  const lineEnd = (from: number) => input.indexOf("\r\n", from);
  const header = lineEnd(0);
  if (header < 0 || input[0] !== 0x2a) return undefined;
  const words: Uint8Array[] = [];
  let offset = header + 2;
  for (let left = Number(text(input.subarray(1, header))); left > 0; left--) {
    const end = lineEnd(offset);
    if (end < 0) return undefined;
    const length = Number(text(input.subarray(offset + 1, end)));
    if (input.length < end + 2 + length + 2) return undefined;
    words.push(new Uint8Array(input.subarray(end + 2, end + 2 + length)));
    offset = end + 2 + length + 2;
  }
  return { words, rest: input.subarray(offset) };
}

function answer(name: string, words: Uint8Array[], items: Map<string, Uint8Array>): Buffer {
  const bulk = (bytes: Uint8Array | undefined) =>
    bytes === undefined
      ? Buffer.from("$-1\r\n")
      : Buffer.concat([Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from("\r\n")]);
  const [, key, value] = words as [Uint8Array, Uint8Array, Uint8Array];
  switch (name) {
    case "strlen":
      return Buffer.from(`:${items.get(text(key))?.length ?? 0}\r\n`);
    case "get":
      return bulk(items.get(text(key)));
    case "set":
      items.set(text(key), value);
      return Buffer.from("+OK\r\n");
    case "info":
      return bulk(new TextEncoder().encode("redis_version:7.0.0\r\nloading:0\r\n"));
    default:
      return Buffer.from("+OK\r\n");
  }
}

export function startRedisPeer(): RedisPeer {
  const items = new Map<string, Uint8Array>();
  const commands: string[] = [];
  const server = Bun.listen<{ pending: Buffer }>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        socket.data = { pending: Buffer.alloc(0) };
      },
      data(socket, chunk) {
        let pending = Buffer.concat([socket.data.pending, chunk]);
        for (let taken = takeCommand(pending); taken; taken = takeCommand(pending)) {
          const name = text(taken.words[0] as Uint8Array).toLowerCase();
          commands.push(name);
          socket.write(answer(name, taken.words, items));
          pending = Buffer.from(taken.rest);
        }
        socket.data.pending = pending;
      },
    },
  });
  return { port: server.port, items, commands, stop: () => server.stop(true) };
}
