// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"path/filepath"
	"slices"
	"strconv"
)

// Memory is the least visible memory limit of this process's groups and their ancestors, bytes (cgroup v2: memory.max,
// memory.high; v1: memory.limit_in_bytes); 0: none.
func (r Root) Memory() (least int64) {
	groups, mounts := r.hierarchies()
	for _, m := range mounts {
		names := []string{"memory.max", "memory.high"}
		if !m.v2 {
			if !slices.Contains(m.controllers, "memory") {
				continue
			}
			names = []string{"memory.limit_in_bytes"}
		}
		for below := range m.upFrom(groups.pathIn(&m)) {
			for _, name := range names {
				if n := limit(readWord(r.path(filepath.Join(m.at, below)), name)); n > 0 && (least == 0 || n < least) {
					least = n
				}
			}
		}
	}
	return least
}

// unlimited and more mean no limit: v1 then has the largest number of whole pages, about 1<<63.
const unlimited = 1 << 62

// limit returns 0 for "max" and other text.
func limit(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 || n >= unlimited {
		return 0
	}
	return n
}
