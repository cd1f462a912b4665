package grab

// UnderWay is how many taps are with the script, or wait behind one that is.
func (g *Gate[T]) UnderWay() (n int) {
	for i := range g.players.stripes {
		for _, p := range g.players.stripes[i].players {
			n += len(p.flying)
		}
	}
	return n
}
