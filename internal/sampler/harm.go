package sampler

import "prywalk/internal/look"

// mostCalls bounds the numbers of system calls of which it is counted how often looks broke them.
const mostCalls = 512

// harm counts what looks did to calls that could not be hidden, by the number of the call; the last place is that of
// others.
type harm struct {
	broken, told [mostCalls + 1]int64
}

// add counts what a look did.
func (h *harm) add(s *look.Shot) {
	at := mostCalls
	if s.BrokenCall >= 0 && s.BrokenCall < mostCalls {
		at = int(s.BrokenCall)
	}
	if s.Broken {
		h.broken[at]++
	}
	if s.Told {
		h.told[at]++
	}
}

// byCall makes a map of the counts that are not zero, by the name of the call. What is missing up to all, as it was
// done by looks that were given up, is "other".
func byCall(counts *[mostCalls + 1]int64, all int64) map[string]int64 {
	m := map[string]int64{}
	for nr, n := range counts {
		if n == 0 {
			continue
		}
		name := "other"
		if nr < mostCalls {
			name = look.CallName(int64(nr))
		}
		m[name] += n
		all -= n
	}
	if all > 0 {
		m["other"] += all
	}
	return m
}
