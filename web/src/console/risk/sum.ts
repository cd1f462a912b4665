/** sumOf is how many wins there are, how much they are, and of how many players. */
export function sumOf(wins: readonly { user: string; amount: number }[]): { n: number; amount: number; players: number } {
  return { n: wins.length, amount: wins.reduce((sum, w) => sum + w.amount, 0), players: new Set(wins.map((w) => w.user)).size };
}
