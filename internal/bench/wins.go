package bench

import "redrain/rain"

// Win is a win that a player was told of.
type Win struct {
	Player int
	Claim  string
	Amount rain.Money
}

// wins collects millions of wins without a pointer in them, so that the garbage collector has nothing to do with them.
type wins struct {
	text []byte // the claims' ids, one behind the other
	recs []win
}

type win struct {
	player int32
	end    int64 // where its claim's id ends in the text
	amount rain.Money
}

func (w *wins) add(player int, claim []byte, amount rain.Money) {
	w.text = append(w.text, claim...)
	w.recs = append(w.recs, win{int32(player), int64(len(w.text)), amount}) //nolint:gosec // players fit in 32 bits
}

func (w *wins) list() []Win {
	all := make([]Win, len(w.recs))
	start, text := int64(0), string(w.text)
	for i, r := range w.recs {
		all[i] = Win{Player: int(r.player), Claim: text[start:r.end], Amount: r.amount}
		start = r.end
	}
	return all
}
