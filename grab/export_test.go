package grab

// NoteSoldOut is what a batch does that finds a shard sold out.
func (g *Gate[T]) NoteSoldOut(shard int) { g.noteSoldOut(shard) }

// UnderWay is how many taps are with the script.
func (g *Gate[T]) UnderWay() (n int) {
	players := g.view.Load().players
	for i := range players.stripes {
		for _, p := range players.stripes[i].players {
			n += len(p.flying)
		}
	}
	return n
}
