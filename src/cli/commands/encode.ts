import { toHex, utf8 } from "../../bytes.ts";
import {
  type Draft,
  encodeControlMessage,
  type MessageParameter,
  MoqtEncodingError,
  type RequestType,
  type RoutableRequest,
  requestMessage,
  requestTypes,
} from "../../moqt/mod.ts";
import { nearest } from "../../nearest.ts";
import { command } from "../command.ts";
import { InputError, UsageError } from "../errors.ts";
import { readNameArgument } from "../name-argument.ts";
import { draftOption, integerOption } from "../option-values.ts";
import { print, printBytes } from "../terminal.ts";

/** The command-line names of the requests: `SUBSCRIBE_TRACKS` is `subscribe-tracks`. */
const typeOfWord: ReadonlyMap<string, RequestType> = new Map(
  requestTypes.map((type) => [type.toLowerCase().replaceAll("_", "-"), type]),
);

/** `yard encode`: the bytes of one routable request, as they open a request stream. */
export const encode = command({
  name: "encode",
  summary: "write a MOQT request as bytes",
  args: {
    request: { type: "positional", description: [...typeOfWord.keys()].join(", ") },
    name: {
      type: "positional",
      description:
        "what it asks for, in MOQT text form: NAMESPACE--TRACK, or NAMESPACE for the last three",
    },
    draft: { type: "string", default: "22", description: "MOQT draft, 18 to 22" },
    "request-id": { type: "string", default: "0", valueHint: "N", description: "Request ID" },
    "track-alias": {
      type: "string",
      default: "0",
      valueHint: "N",
      description: "Track Alias of a publish",
    },
    token: {
      type: "string",
      valueHint: "TEXT",
      description: "add an AUTHORIZATION_TOKEN with this value",
    },
    "token-type": {
      type: "string",
      default: "0",
      valueHint: "N",
      description: "Token Type of --token; 0: agreed out of band",
    },
    binary: { type: "boolean", description: "write the bytes themselves instead of hexadecimal" },
  },
  details: [
    "A fetch of drafts 18 and 19 has to name a range: it asks for the whole group 0.\n" +
      "The empty namespace starts with a dash; write it after --: yard encode subscribe -- --track",
  ],
  examples: [
    "encode subscribe example.2ecom-m1--video",
    "encode publish-namespace example.2ecom-m1-alice --draft 20",
    "encode subscribe example.2ecom-m1--video --binary |\n" +
      "    curl -s http://127.0.0.1:8787/moqt/moqt-22 \\\n" +
      "      -H 'content-type: application/octet-stream' --data-binary @- |\n" +
      "    yard decode --binary",
  ],
  async run(values) {
    const draft = draftOption(values.draft);
    const type = requestType(values.request);
    const details = {
      draft,
      requestId: integerOption("--request-id", values["request-id"]),
      trackAlias: integerOption("--track-alias", values["track-alias"]),
      parameters: tokenParameters(values.token, values["token-type"]),
    };
    const request = readNameArgument(values.name, (name) =>
      requestMessage(type, { ...details, name }),
    );
    const bytes = encoded(request, draft);
    if (values.binary) printBytes(bytes);
    else print(toHex(bytes));
    return undefined;
  },
});

function requestType(word: string): RequestType {
  const normal = word.toLowerCase().replaceAll("_", "-");
  const type = typeOfWord.get(normal);
  if (type !== undefined) return type;
  const words = [...typeOfWord.keys()];
  const close = nearest(normal, words);
  throw new UsageError(
    `unknown request ${word}; ${close === undefined ? `expected one of ${words.join(", ")}` : `did you mean ${close}?`}`,
  );
}

function tokenParameters(token: string | undefined, tokenType: string): MessageParameter[] {
  const type = integerOption("--token-type", tokenType);
  if (token === undefined) return [];
  return [
    {
      type: "AUTHORIZATION_TOKEN",
      token: { aliasType: "USE_VALUE", tokenType: type, tokenValue: utf8(token) },
    },
  ];
}

function encoded(request: RoutableRequest, draft: Draft): Uint8Array {
  try {
    return encodeControlMessage(request, draft);
  } catch (error) {
    if (!(error instanceof MoqtEncodingError)) throw error;
    throw new InputError(`${request.type} does not fit draft ${draft}: ${error.message}`, error);
  }
}
