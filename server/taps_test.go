package server

import (
	"redrain/grab"
	"redrain/rain"
)

// askGate taps and puts the result in told, whoever knows it.
func askGate(gate *grab.Gate, user, drop string, told chan<- grab.Result) {
	id, ok := rain.ParseDrop(drop)
	if !ok {
		panic(drop + " is no drop")
	}
	if r, known := gate.Tap(&grab.Tap{User: user, Drop: id, Asker: &waiting{told}}); known {
		told <- r
	}
}

// waiting is told of taps.
type waiting struct{ told chan<- grab.Result }

func (w *waiting) Answer(taps []*grab.Tap) {
	for _, t := range taps {
		w.told <- t.Result()
	}
}
