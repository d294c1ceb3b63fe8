/**
 * What a transport is told of the order of its streams.
 *
 * @module
 */

import type { Transport } from "../../src/transport/transport.ts";

export type Priority = readonly [urgency: number, rank: number];

/**
 * Notes the priorities of unidirectional streams that are opened on `transport` from now on, by
 * order of opening; one of which nothing is said has none.
 */
export function recordPriorities(transport: Transport): Priority[][] {
  const recorded: Priority[][] = [];
  const openUni = transport.openUni.bind(transport);
  transport.openUni = async () => {
    const stream = await openUni();
    const priorities: Priority[] = [];
    recorded.push(priorities);
    stream.prioritise = (urgency, rank) => void priorities.push([urgency, rank]);
    return stream;
  };
  return recorded;
}
