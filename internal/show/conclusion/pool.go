// SPDX-License-Identifier: Apache-2.0

package conclusion

import (
	"fmt"
	"regexp"

	"prywalk/internal/base/tabular"
)

var number = regexp.MustCompile(`\d+`)

// stem is a pool's name: that of its threads without their last number.
func stem(thread string) string {
	at := number.FindAllStringIndex(thread, -1)
	if len(at) == 0 {
		return thread
	}
	last := at[len(at)-1]
	return thread[:last[0]] + "*" + thread[last[1]:]
}

func (s *Summary) addPool(x *Sample) {
	pool := stem(x.Name)
	if x.Task != "" || !x.Pooled || pool == x.Name {
		return
	}
	if s.pools[pool] == nil {
		s.pools[pool] = map[Thread]bool{}
	}
	s.pools[pool][x.Thread] = true
}

// ofPool counts a group's threads among those of their pool; "": they are of several, or of none.
func (s *Summary) ofPool(g *group) string {
	pool := ""
	for t := range g.threads {
		name := stem(s.threads[t].name)
		if !s.pools[name][t] || pool != "" && name != pool {
			return ""
		}
		pool = name
	}
	switch n, all := len(g.threads), len(s.pools[pool]); {
	case all < 2:
		return ""
	case n == all:
		return fmt.Sprintf("all %d threads of %s", n, tabular.Shorten(pool, s.nameWidth))
	default:
		return fmt.Sprintf("%d of %d threads of %s", n, all, tabular.Shorten(pool, s.nameWidth))
	}
}
