package bench

// alarms wakes players at their times, the earliest first. It is a binary heap by hand because container/heap boxes
// each element, on a path that a thinking player takes with each tap.
type alarms []alarm

type alarm struct {
	at int64 // ns on the loop's clock
	p  *player
}

func (h *alarms) push(a alarm) {
	*h = append(*h, a)
	s := *h
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if s[up].at <= s[i].at {
			return
		}
		s[up], s[i] = s[i], s[up]
		i = up
	}
}

func (h *alarms) pop() alarm {
	s := *h
	first, last := s[0], len(s)-1
	s[0], s[last] = s[last], alarm{}
	s = s[:last]
	*h = s
	for i := 0; ; {
		least := i
		for _, down := range [2]int{2*i + 1, 2*i + 2} {
			if down < len(s) && s[down].at < s[least].at {
				least = down
			}
		}
		if least == i {
			return first
		}
		s[i], s[least] = s[least], s[i]
		i = least
	}
}
