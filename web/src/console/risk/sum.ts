/** sumOf returns the number of wins, their sum, and the number of their players. */
export function sumOf(wins: readonly { user: string; amount: number }[]): { n: number; amount: number; players: number } {
  return { n: wins.length, amount: wins.reduce((sum, w) => sum + w.amount, 0), players: new Set(wins.map((w) => w.user)).size };
}
