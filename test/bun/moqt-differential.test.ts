/**
 * Our codec against codecs that nobody here wrote: @moqt/transport (draft 18, both ways) and
 * @moq/net (drafts 18 to 20, its bytes read by us and ours by it).
 */

import { describe, expect, test } from "bun:test";
import {
  createControlCodec,
  type DecodedControlMessage,
  type Parameters,
  type ControlMessage as TheirMessage,
  type ParameterValue as TheirValue,
} from "@moqt/transport";
import fc from "fast-check";
import {
  AliasType,
  encodeAuthorizationToken18,
} from "../../node_modules/@moqt/transport/dist/control/auth-token.js";
import { encodeSubscriptionFilter } from "../../node_modules/@moqt/transport/dist/control/subscription-filter.js";
import { toHex, utf8 } from "../../src/bytes.ts";
import {
  type ControlMessage,
  decodeControlMessage,
  encodeControlMessage,
  type LocationFilter,
  type MessageParameter,
  type SetupOption,
  type Token,
} from "../../src/moqt/mod.ts";
import { anyMessage } from "../suite/moqt/arbitrary.ts";

const codec = createControlCodec(18);

/** Types of parameters, as @moqt/transport keys them. */
const typeOf: Readonly<Partial<Record<MessageParameter["type"], bigint>>> = {
  OBJECT_DELIVERY_TIMEOUT: 0x02n,
  AUTHORIZATION_TOKEN: 0x03n,
  RENDEZVOUS_TIMEOUT: 0x04n,
  SUBGROUP_DELIVERY_TIMEOUT: 0x06n,
  EXPIRES: 0x08n,
  LARGEST_OBJECT: 0x09n,
  FILL_TIMEOUT: 0x0an,
  FORWARD: 0x10n,
  SUBSCRIBER_PRIORITY: 0x20n,
  LOCATION_FILTER: 0x21n,
  GROUP_ORDER: 0x22n,
  NEW_GROUP_REQUEST: 0x32n,
  TRACK_NAMESPACE_PREFIX: 0x34n,
};
