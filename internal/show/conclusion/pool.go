// SPDX-License-Identifier: Apache-2.0

package conclusion

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"prywalk/internal/base/tabular"
)

var lastNumber = regexp.MustCompile(`\d+(\D*)$`)

// pool names a pool of threads by theirs without the last number, or "" if they have none, or are in no pool's loop.
func (s *Sample) pool() string {
	if name := lastNumber.ReplaceAllString(s.Name, "*$1"); s.Pooled && name != s.Name {
		return name
	}
	return ""
}

// ofPool says how many threads of a pool the group has: "12 of 16 threads of worker-*". It returns "" unless all
// threads of the group are in one pool.
func (s *Summary) ofPool(g *group) string {
	pool, all := "", 0
	for t := range g.threads {
		of := s.threads[t].pool
		if of == "" || pool != "" && of != pool {
			return ""
		}
		pool = of
	}
	for _, t := range s.threads {
		if t.pool == pool {
			all++
		}
	}
	switch n := len(g.threads); {
	case pool == "" || all < 2:
		return ""
	case n == all:
		return fmt.Sprintf("all %d threads of %s", n, tabular.Shorten(pool, s.nameWidth))
	default:
		return fmt.Sprintf("%d of %d threads of %s", n, all, tabular.Shorten(pool, s.nameWidth))
	}
}

// waitingPool names a pool of which all threads wait for results of tasks, as recordings do not have what dumps know of
// it: whether these are tasks in its own queue. It returns "" if there is none.
func (s *Summary) waitingPool(g *group) string {
	all, waiting := map[string]int64{}, map[string]int64{}
	for number, t := range s.threads {
		if all[t.pool]++; 20*g.threads[number] >= 19*t.wall {
			waiting[t.pool]++
		}
	}
	maps.DeleteFunc(waiting, func(pool string, n int64) bool { return pool == "" || n < 2 || n < all[pool] })
	pool, _ := Largest(waiting, strings.Compare)
	if pool == "" || 20*g.results < 19*g.time {
		return ""
	}
	return "; all threads of pool " + tabular.Shorten(pool, s.nameWidth) + " wait for results: see dump --locks"
}

// fullPool says of waits for results of tasks which other pool has no free thread, and what its threads do: "; no
// thread of worker-* is free (sleeps in App.look)". "" means that there is none.
func (s *Summary) fullPool(g *group) string {
	wall := map[string]int64{}
	for number, t := range s.threads {
		if g.threads[number] == 0 {
			wall[t.pool] += t.wall
		}
	}
	delete(wall, "")
	for _, t := range s.threads {
		if 20*t.idle > t.wall || float64(wall[t.pool]) < s.length()/2 {
			delete(wall, t.pool)
		}
	}
	pool, _ := Largest(wall, strings.Compare)
	if pool == "" || 2*g.results < g.time {
		return ""
	}
	doing := s.doing(func(h holder) bool { return h.function == anywhere && s.threads[h.thread].pool == pool })
	functions := map[int32]int64{}
	for a, time := range s.awake {
		if a.holder.function != anywhere && s.threads[a.holder.thread].pool == pool {
			functions[a.holder.function] += time
		}
	}
	if f, time := Largest(functions, cmp.Compare); time > wall[pool]/2 {
		doing += " in " + s.function(f, "")
	}
	return "; no thread of " + tabular.Shorten(pool, s.nameWidth) + " is free" + inBrackets(doing)
}
