/**
 * When the pool file counts: what is in it is published, or operators hear why it is not.
 *
 * @module
 */

import { messageOf } from "../errors.ts";
import { SnapshotError } from "../snapshot/mod.ts";
import type { Agent } from "./agent.ts";
import type { AgentConfig } from "./config.ts";
import { readPoolFile } from "./pool-file.ts";

/** Hears for the log what is to be said of the file. */
type Say = (message: string, problems: readonly unknown[]) => void;

/** What an agent does with its pool file. */
export interface PoolLoader {
  /** Publishes the file, or says what is wrong with it. */
  reload(): Promise<void>;
  /** Does so where the store is new, or the file is not the one that was loaded last. */
  loadFirst(): Promise<void>;
  /** Does what was put off while another agent published, or the store was damaged. */
  catchUp(): void;
}

export function poolLoader(
  { operatorSignatures }: Pick<AgentConfig, "operatorSignatures">,
  file: string,
  agent: Pick<Agent, "alarms" | "current" | "isLoaded" | "publish" | "role" | "setAlarm">,
  say: Say,
): PoolLoader {
  /** Whether the file changed while another agent published. */
  let changedMeanwhile = false;
  /** Whether the file was compared with what was loaded last, or loaded. */
  let compared = false;
  /** Whether that has to wait for a store that is damaged. */
  let putOff = false;
  /** The file's text, where an operator has to publish it. */
  let unsigned: string | undefined;
  const tell = (message: string, problems: readonly unknown[] = []) => say(message, problems);
  const alarm = (error: unknown): void => {
    const message = `${file}: ${messageOf(error)}`;
    tell(message, error instanceof SnapshotError ? error.problems : []);
    agent.setAlarm("POOL_FILE", message);
  };
  const isPublishing = () =>
    agent.role === "publishing" && !agent.alarms.some(({ code }) => code === "STORE_DAMAGED");
  const load = async (text: string): Promise<void> => {
    await agent.publish(text, { kind: "local" }, { fromFile: true });
    unsigned = undefined;
    agent.setAlarm("POOL_FILE", undefined);
  };
  /** Ends the alarm once an operator has published the file. */
  const settle = async (): Promise<void> => {
    const text = unsigned;
    if (text === undefined || !(await agent.isLoaded(text)) || text !== unsigned) return;
    unsigned = undefined;
    agent.setAlarm("POOL_FILE", undefined);
  };
  const reload = async (): Promise<void> => {
    if (agent.role !== "publishing") {
      changedMeanwhile = true;
      return tell(`${file} changed: it counts once this agent publishes`);
    }
    compared = true;
    unsigned = undefined;
    try {
      const text = await readPoolFile(file);
      const first = agent.current === undefined && isPublishing();
      if (first || !operatorSignatures.has("publish")) return await load(text);
      if (await agent.isLoaded(text)) return agent.setAlarm("POOL_FILE", undefined);
      const message = `${file} is not what was published from it last: publish it with an operator's signature (yard publish), or put back what it was`;
      tell(message);
      agent.setAlarm("POOL_FILE", message);
      unsigned = text;
      await settle();
    } catch (error) {
      alarm(error);
    }
  };
  /** The file may have changed while no agent ran. */
  const loadFirst = async (): Promise<void> => {
    // Where the newest version is lost, operators decide what takes its place.
    putOff = !isPublishing();
    if (compared || putOff) return;
    compared = true;
    if (agent.current === undefined) return reload();
    try {
      // What no record tells of was published by hand, and stays.
      if ((await agent.isLoaded(await readPoolFile(file))) === false) await reload();
    } catch (error) {
      alarm(error);
    }
  };
  return {
    reload,
    loadFirst,
    catchUp(): void {
      if (unsigned !== undefined) void settle().catch(alarm);
      if (!isPublishing()) return;
      if (changedMeanwhile) {
        changedMeanwhile = false;
        void reload();
      } else if (putOff) void loadFirst();
    },
  };
}
