// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"io"

	"prywalk/internal/code/symbols/perfmap"
)

// ReadPerfMapsInSteps makes function bounds use perf maps read in steps; names need whole ones.
func (n *Namer) ReadPerfMapsInSteps() { n.inSteps = true }

// SetYield sets a function to call while a perf map is read whole, or nil.
func (n *Namer) SetYield(f func()) { n.yield = f }

// perfMap returns a process's perf map, or nil. whole: it must be complete.
func (n *Namer) perfMap(pid int, whole bool) *perfmap.Map {
	return n.filesOf(pid).perfMap.Map(func() (io.ReadCloser, int64) { return n.mapFile(pid) }, whole, n.yield)
}
