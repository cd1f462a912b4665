package web_test

import (
	"maps"
	"strconv"
	"time"
)

// setRain announces a rain that starts after a time (or started before, where it is negative), and answers with its
// start.
func (f *fakeServer) setRain(in, duration time.Duration) int64 {
	start := f.now() + in.Milliseconds()
	const fall = 4000
	rain := object{
		"id": f.rainID, "campaign": "c1", "phase": "countdown", "starts_at": start,
		"ends_at":     start + duration.Milliseconds() + fall,
		"duration_ms": duration.Milliseconds(), "fall_ms": fall, "first_wave": 0,
	}
	f.mu.Lock()
	maps.Copy(rain, f.draws)
	f.rain = rain
	f.mu.Unlock()
	f.push(object{"type": "rain", "rain": rain})
	return start
}

// phase tells a new phase of the rain. One that ends does so now.
func (f *fakeServer) phase(phase string) {
	f.mu.Lock()
	rain := object{}
	maps.Copy(rain, f.rain)
	rain["phase"] = phase
	if phase == "ended" {
		rain["ends_at"] = f.now()
	}
	f.rain = rain
	f.mu.Unlock()
	f.push(object{"type": "rain", "rain": rain})
}

// wave sends one wave; each drop is x, kind, fall_ms.
func (f *fakeServer) wave(n int, at int64, drops ...[3]int) {
	var list [][4]int
	for k, d := range drops {
		list = append(list, [4]int{k, d[0], d[1], d[2]})
	}
	f.push(object{"type": "wave", "rain": f.rainID, "n": n, "at": at, "drops": list})
}

// won is the result of a win, remembered for the welcome.
func (f *fakeServer) won(packet, amount int) object {
	claim := object{"claim": "c1-" + strconv.Itoa(packet), "packet": strconv.Itoa(packet), "amount": amount,
		"state": "granted", "at": f.now()}
	f.mu.Lock()
	f.claims = append([]object{claim}, f.claims...)
	f.mu.Unlock()
	won := object{"outcome": "won", "packet": claim["packet"], "claim": claim["claim"], "amount": amount}
	if amount > 200 { // more than the average, and so than most
		won["luck"] = 93
	}
	return won
}

// settle pays everything that was won.
func (f *fakeServer) settle() {
	f.mu.Lock()
	paid := []object{}
	for i, c := range f.claims {
		if c["state"] == "granted" {
			f.balance += c["amount"].(int)
			f.claims[i] = object{"claim": c["claim"], "packet": c["packet"], "amount": c["amount"], "state": "settled",
				"at": c["at"]}
			paid = append(paid, object{"claim": c["claim"], "amount": c["amount"]})
		}
	}
	message := object{"type": "settled", "claims": paid, "balance": f.balance}
	f.mu.Unlock()
	f.push(message)
}
