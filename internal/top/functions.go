// SPDX-License-Identifier: Apache-2.0

package top

import (
	"sync"

	"prywalk/internal/profile"
	"prywalk/internal/sample"
	"prywalk/internal/unnamedcode"
	"prywalk/internal/view"
	"prywalk/internal/waits"
)

// Frame is a function in tables, named as in report.
type Frame struct {
	view.Frame
	// mapping is the mapping's file; ruleFile the source file, if idle rules use it.
	mapping, ruleFile string
}

// Functions numbers the functions of stacks. Safe for concurrent use.
type Functions struct {
	names *profile.Names

	mu         sync.Mutex
	frames     []Frame
	support    []bool // of language or system
	index      map[Frame]int32
	whole      map[sample.StackID][]int32 // all named
	paths      []string
	knownPaths map[string]bool
	buf        []profile.Named
	changes    int64
	renamed    int64
}

// NewFunctions takes the recording's names.
func NewFunctions(names *profile.Names) *Functions {
	return &Functions{names: names, index: map[Frame]int32{}, whole: map[sample.StackID][]int32{},
		knownPaths: map[string]bool{}}
}

func (n *Functions) update() {
	changes, renamed := n.names.Changes()
	if renamed != n.renamed {
		clear(n.whole)
	}
	n.changes, n.renamed = changes, renamed
}

// functionsOf returns a stack's functions, innermost first; modules in place of missing names. Precondition: n.mu is
// held.
func (n *Functions) functionsOf(id sample.StackID) []int32 {
	if fs, ok := n.whole[id]; ok {
		return fs
	}
	if id == evictedStack {
		return []int32{n.frameIndex(Frame{Frame: view.Frame{Name: evictedName}})}
	}
	var out, machinery []int32
	final := true
	n.buf = n.names.Stack(id, nil, n.buf[:0])
	for i := range n.buf {
		l := &n.buf[i]
		final = final && l.Final
		if l.Machinery {
			machinery = n.appendFrames(l, machinery)
			continue
		}
		out = n.appendFrames(l, out)
	}
	if len(out) == 0 {
		out = machinery
	}
	if final {
		if len(n.whole) >= maxUnusedCells {
			clear(n.whole)
		}
		n.whole[id] = out
	}
	return out
}

// appendFrames appends the numbers of a location's frames, innermost first.
func (n *Functions) appendFrames(l *profile.Named, out []int32) []int32 {
	path := n.pathOf(l.Module)
	module := view.ModuleName(path)
	some := false
	for _, f := range l.Frames {
		if f.Name != "" {
			some = true
			out = append(out, n.frameIndex(Frame{view.FrameOf(f.Name, path, f.File), module, waits.RulesFile(module, f.File)}))
		}
	}
	if !some {
		out = append(out, n.frameIndex(Frame{Frame: view.FrameOf(unnamedcode.Bracketed(module), path, ""), mapping: module}))
	}
	return out
}

// pathOf records the module's path; "": none.
func (n *Functions) pathOf(m *profile.ModuleInfo) string {
	if m == nil || m.Path == "" {
		return ""
	}
	if !n.knownPaths[m.Path] {
		n.knownPaths[m.Path] = true
		n.paths = append(n.paths, m.Path)
	}
	return m.Path
}

func (n *Functions) frameIndex(f Frame) int32 {
	k, ok := n.index[f]
	if !ok {
		k = int32(len(n.frames))
		n.frames = append(n.frames, f)
		n.support = append(n.support, f.IsSupport())
		n.index[f] = k
	}
	return k
}
