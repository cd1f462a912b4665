// Tests of the client SDK, run in the browser by TestSDKModules. run answers with what is wrong.

import { decode } from "../../sdk/decode.ts";
import { addresses, backoff, clock } from "./clock.ts";
import { connection } from "./connection.ts";
import { lucks } from "./lucks.ts";
import { messages } from "./messages.ts";
import { renewal } from "./renewal.ts";
import { taps } from "./taps.ts";
import { Check, World } from "./world.ts";

type Test = (c: Check, w: World) => void | Promise<void>;

const groups: Record<string, Record<string, Test>> = { addresses, backoff, clock, connection, lucks, messages, renewal, taps };

/** understood are the types of the messages that the client reads in a frame. */
export function understood(frame: string): string[] {
  return decode(frame).map((m) => m.type);
}

export async function run(): Promise<{ ran: number; faults: string[] }> {
  const faults: string[] = [];
  let ran = 0;
  for (const [group, tests] of Object.entries(groups)) {
    for (const [name, test] of Object.entries(tests)) {
      const check = new Check();
      ran++;
      try {
        await new World().run(async (w) => {
          await test(check, w);
        });
      } catch (fault) {
        check.faults.push(String(fault instanceof Error ? fault.stack : fault));
      }
      faults.push(...check.faults.map((f) => `${group}.${name}: ${f}`));
    }
  }
  return { ran, faults };
}
