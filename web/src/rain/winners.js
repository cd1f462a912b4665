// The winners' list out of the room's figures.

// mergeNewest adds a list (newest first) to what is known (newest first). The lists of two seconds may overlap
// or not: what they share is recognised as the longest end of the new that begins the old.
export function mergeNewest(known, next, keep) {
  const same = (a, b) => a.user === b.user && a.amount === b.amount;
  for (let shared = Math.min(next.length, known.length); shared > 0; shared--) {
    const tail = next.slice(next.length - shared);
    if (tail.every((w, i) => same(w, known[i]))) return [...next, ...known.slice(shared)].slice(0, keep);
  }
  return [...next, ...known].slice(0, keep);
}
