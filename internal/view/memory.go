// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"io"

	"github.com/google/pprof/profile"

	"prywalk/internal/budget"
	"prywalk/internal/tabular"
)

// A small profile can stand for a large report: a location has any number of inlined calls, a sample any number of
// locations, and each path of calls a node of its own. So whatever grows with the paths is taken from the budget
// before it is allocated. After the first refusal stacks are short and nothing is written: see [Data.Err].

// What parts of a report take, in bytes, with the garbage of the lists that grew for them. Measured by
// TestSmallProfilesStayWithinTheBudget.
const (
	frameCost    = 320 // a frame, and its number in the index
	nodeCost     = 200 // a node, its number in the index and among its parent's children
	sampleCost   = 256 // a sample of the profile itself
	functionCost = 192
	locationCost = 192
	lineCost     = 64
)

// Limits of the work for one report, whatever the memory.
const (
	// fewFrames is the number of frames on all stacks up to which no profile is refused.
	fewFrames = 32 << 20
	// inlinedMost is the number of inlined calls at a location, on average, up to which larger ones are not.
	inlinedMost = 8
	// longestText is how much text a report may have, in times of what the process may keep within.
	longestText = 2
)

// measure takes what the profile itself takes, and refuses one whose stacks are longer than can be gone through.
func (d *Data) measure() error {
	var locations, frames int64
	stacks := map[**profile.Location]bool{} // samples share them
	size := int64(0)
	for _, s := range d.Profile.Sample {
		size += sampleCost
		if len(s.Location) == 0 {
			continue
		}
		if first := &s.Location[0]; !stacks[first] {
			stacks[first] = true
			size += 8 * int64(len(s.Location))
		}
		locations += int64(len(s.Location))
		for _, l := range s.Location {
			frames += int64(max(1, len(l.Line)))
		}
	}
	if frames > fewFrames+inlinedMost*locations {
		return fmt.Errorf("the profile is too large: its stacks have %s frames, most of them inlined calls; its writer or "+
			"the file is broken, for compilers inline at most some dozens of calls at an address", tabular.Thousands(frames))
	}
	for _, l := range d.Profile.Location {
		size += locationCost + lineCost*int64(len(l.Line))
	}
	d.Take(size + functionCost*int64(len(d.Profile.Function)))
	return d.err
}

// Take takes n bytes before they are allocated for the report; false if there are no more.
func (d *Data) Take(n int64) bool {
	if d.err == nil {
		d.err = d.memory.Take(n, "")
	}
	return d.err == nil
}

// Give gives bytes back.
func (d *Data) Give(n int64) { d.memory.Give(n) }

// Err is the refusal of memory, an [*budget.Error]; nil if there was none.
func (d *Data) Err() error { return d.err }

// Close gives all memory back.
func (d *Data) Close() { d.memory.Close() }

// Writer gives a writer of the report. It fails once memory was refused, and where the text becomes so long that only
// a broken or hostile profile can be the cause.
func (d *Data) Writer(w io.Writer) io.Writer {
	return &limited{d: d, to: w, left: longestText * budget.Process().Total()}
}

// limited is a writer of a report.
type limited struct {
	d    *Data
	to   io.Writer
	left int64
}

// Write implements [io.Writer].
func (l *limited) Write(b []byte) (int, error) {
	if l.d.err != nil {
		return 0, l.d.err
	}
	if l.left -= int64(len(b)); l.left < 0 {
		total := budget.Process().Total()
		l.d.err = fmt.Errorf("report truncated at %s; --max-memory %s allows more",
			budget.Size(longestText*total), budget.Size(2*total))
		return 0, l.d.err
	}
	return l.to.Write(b)
}
