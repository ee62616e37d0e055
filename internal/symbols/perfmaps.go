// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"io"
	"strconv"

	"prywalk/internal/symbols/perfmap"
)

// ReadPerfMapsInSteps makes function bounds use perf maps read in steps; names need whole ones.
func (n *Namer) ReadPerfMapsInSteps() { n.inSteps = true }

// SetYield sets a function to call while a perf map is read whole, or nil.
func (n *Namer) SetYield(f func()) { n.yield = f }

// perfMap returns a process's perf map, or nil. whole: it must be complete.
func (n *Namer) perfMap(pid int, whole bool) *perfmap.Map {
	j := n.maps[pid]
	if j == nil {
		j = perfmap.NewReader(n.memory.Account("the perf map of process " + strconv.Itoa(pid)))
		n.maps[pid] = j
	}
	return j.Map(func() (io.ReadCloser, int64) { return n.mapFile(pid) }, whole, n.yield)
}
