// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"io"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/tabular"
	"prywalk/internal/host/filememory"
)

// Bytes of a report's parts, with garbage (TestSmallProfilesStayWithinTheBudget).
const (
	frameCost    = 320
	NodeCost     = 200 // of a [CallTree]
	sampleCost   = 256
	functionCost = 192
	locationCost = 192
	lineCost     = 64
)

const (
	// A profile is refused if its stacks have more frames than fewFrames + inlinedMost × locations: such a file has stacks
	// that no compiler makes.
	fewFrames   = 32 << 20
	inlinedMost = 8
	// longestText bounds a report's text, as a multiple of the memory's limit.
	longestText = 2
)

// Memory charges what grows with the call paths before its allocation: a small profile can make a large report. After
// the first refusal stacks are short, and nothing is written.
type Memory struct {
	account *filememory.Account
	err     error
}

func (m *Memory) charge(p *profile.Profile) error {
	var locations, frames int64
	stacks := map[**profile.Location]bool{}
	size := int64(0)
	for _, s := range p.Sample {
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
	for _, l := range p.Location {
		size += locationCost + lineCost*int64(len(l.Line))
	}
	m.Take(size + functionCost*int64(len(p.Function)))
	return m.err
}

// Take charges n bytes to be allocated; false if refused.
func (m *Memory) Take(n int64) bool {
	if m.err == nil {
		m.err = m.account.Take(n, "")
	}
	return m.err == nil
}

// Give returns n bytes.
func (m *Memory) Give(n int64) { m.account.Give(n) }

// Err returns the first refusal, a [*filememory.Error], or nil.
func (m *Memory) Err() error { return m.err }

// Close returns all memory.
func (m *Memory) Close() { m.account.Close() }

// writer returns a writer to w that fails after a refusal, and for a text longer than longestText times the budget.
func (m *Memory) writer(w io.Writer) io.Writer {
	return &limitedWriter{memory: m, to: w, remaining: longestText * filememory.Process().Total()}
}

type limitedWriter struct {
	memory    *Memory
	to        io.Writer
	remaining int64
}

// Write implements [io.Writer].
func (l *limitedWriter) Write(b []byte) (int, error) {
	if l.memory.err != nil {
		return 0, l.memory.err
	}
	if l.remaining -= int64(len(b)); l.remaining < 0 {
		total := filememory.Process().Total()
		l.memory.err = fmt.Errorf("report truncated at %s; --max-memory %s allows more",
			filememory.Size(longestText*total), filememory.Size(2*total))
		return 0, l.memory.err
	}
	return l.to.Write(b)
}
