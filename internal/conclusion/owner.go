// SPDX-License-Identifier: Apache-2.0

package conclusion

import (
	"cmp"
	"fmt"

	"prywalk/internal/tabular"
)

// heldBy names a lock's owner, or a likely one; "": neither.
func (s *Summary) heldBy(g *group) string {
	owner, most := largest(g.owners, byNumber)
	switch {
	case 2*most > g.time || len(g.owners) == 1:
		return ", held by " + s.name(owner)
	case len(g.owners) > 1:
		return ", held by " + tabular.Plural(int64(len(g.owners)), "thread") + " in turn"
	}
	return s.likelyHeldBy(g)
}

func (s *Summary) name(t Thread) string {
	known := s.threads[t]
	if known == nil || known.name == "" {
		return fmt.Sprintf("thread %d", t.TID)
	}
	for other, x := range s.threads {
		if other != t && x.name == known.name {
			return fmt.Sprintf("%s (tid %d)", known.name, t.TID)
		}
	}
	return known.name
}

// likelyHeldBy guesses an owner: a thread, or a task, that is in a function that takes the lock, and does not wait for
// it, for a third of the time, and twice as long as any other thread.
func (s *Summary) likelyHeldBy(g *group) string {
	times := map[holder]int64{}
	for h, v := range s.awake {
		if _, takes := g.functions[h.function]; takes {
			times[h] = v
		}
	}
	order := func(a, b holder) int {
		return cmp.Or(byNumber(a.thread, b.thread), cmp.Compare(a.function, b.function))
	}
	best, time := largest(times, order)
	for h := range times {
		if h.thread == best.thread {
			delete(times, h)
		}
	}
	if _, next := largest(times, order); float64(time) < 0.3*s.length() || time < 2*next {
		return ""
	}
	if best.thread == (Thread{}) || s.threads[best.thread] == nil {
		return ", likely held in " + s.list[best.function].String()
	}
	return ", likely held by " + s.name(best.thread)
}
