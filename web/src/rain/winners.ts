// The winners' list from the room's figures.

import type { Profile } from "../shared/faces.ts";

/** Winner is one entry of a room message: a masked id, a display profile if there is one, and the amount in minor units. */
export interface Winner extends Profile {
  user: string;
  amount: number;
}

/**
 * mergeNewest adds a new list to the old one, both newest first, and returns at most keep of them. If the lists
 * overlap, the longest end of the new one that begins the old one counts once.
 */
export function mergeNewest(known: readonly Winner[], next: readonly Winner[], keep: number): Winner[] {
  for (let shared = Math.min(next.length, known.length); shared > 0; shared--) {
    const tail = next.slice(next.length - shared);
    if (tail.every((w, i) => same(w, known[i]))) return [...next, ...known.slice(shared)].slice(0, keep);
  }
  return [...next, ...known].slice(0, keep);
}

const GUEST = /^guest-[0-9a-f]{20}$/; // a guest's id, as the server makes it

export const isGuest = (user: string): boolean => GUEST.test(user);

/** masked is a player's id in the lists of the room, as the server masks it. Only a guest's is almost unique. */
export function masked(user: string): string {
  const [first = ""] = user;
  return `${first}*${isGuest(user) ? user.slice(-4) : ""}`;
}

function same(a: Winner, b: Winner | undefined): boolean {
  return a.user === b?.user && a.amount === b.amount;
}

const LONG = 14; // characters of a name that leave room for the rest of the sentence on a phone's line

/** calling isolates a name within a sentence: letters of any direction do not move the words around it. */
export function calling(name: string): string {
  const letters = [...name];
  return `\u2068${letters.length > LONG ? `${letters.slice(0, LONG - 1).join("")}…` : name}\u2069`;
}
