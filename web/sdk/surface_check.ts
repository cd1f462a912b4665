// Checked by tsc and never run: index.ts exports exactly the declarations of redrain.d.ts.

import * as given from "./index.ts";
import type * as promised from "./redrain.d.ts";

/** Same is true if A and B are the same type, and false if one is only assignable to the other. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Public is a class's public side: private fields would make two classes with the same methods differ. */
type Public<T> = { [K in keyof T]: T[K] };

const holds = <T extends true>(): T | undefined => undefined;

holds<Same<keyof typeof given, keyof typeof promised>>();
holds<Same<Public<given.RainClient>, Public<promised.RainClient>>>();
holds<Same<keyof typeof given.RainClient, keyof typeof promised.RainClient>>();
holds<Same<ConstructorParameters<typeof given.RainClient>, ConstructorParameters<typeof promised.RainClient>>>();
holds<Same<typeof given.RainClient.isFinal, typeof promised.RainClient.isFinal>>();
holds<Same<typeof given.CloseCode, typeof promised.CloseCode>>();
holds<Same<typeof given.checkLuck, typeof promised.checkLuck>>();

// A page's code.
export async function page(client: promised.RainClient, stop: AbortSignal): Promise<void> {
  const off: () => void = client.on("wave", ({ drops }) => void client.tap(drops[0] ?? "7.3"), { signal: stop });
  off();
  const result = await client.tap("7.3");
  if (result.outcome === "won") result.amount.toFixed();
  // @ts-expect-error only a win has an amount
  else result.amount.toFixed();
  // @ts-expect-error there is no such event
  client.on("waves", () => {});
  // @ts-expect-error state is read
  client.state = "open";
}
