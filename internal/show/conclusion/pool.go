// SPDX-License-Identifier: Apache-2.0

package conclusion

import (
	"fmt"
	"regexp"

	"prywalk/internal/base/tabular"
)

var lastNumber = regexp.MustCompile(`\d+(\D*)$`)

// pool names a pool of threads by theirs without the last number; "": they have none, or are in no pool's loop.
func (s *Sample) pool() string {
	if name := lastNumber.ReplaceAllString(s.Name, "*$1"); s.Pooled && name != s.Name {
		return name
	}
	return ""
}

// ofPool counts a group's threads among those of their pool; "": they are of several, or of none.
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
