// The possible line breaks of a Chinese title: between words, and not between 马 and 年.

const CHINESE = /[\u3400-\u9fff]/;

/** phrases are the parts of a title that stay together: its words, each with the single letters that follow it. */
export function phrases(title: string): string[] {
  if (!("Segmenter" in Intl) || !CHINESE.test(title)) return [title];
  const found: string[] = [];
  for (const { segment } of new Intl.Segmenter("zh", { granularity: "word" }).segment(title)) {
    const last = found.length - 1;
    const before = found[last] ?? "";
    if (last >= 0 && segment.length === 1 && CHINESE.test(before.slice(-1)) && !/\s/.test(segment)) found[last] = before + segment;
    else found.push(segment);
  }
  return found;
}
