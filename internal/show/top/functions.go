// SPDX-License-Identifier: Apache-2.0

package top

import (
	"prywalk/internal/base/sample"
	"prywalk/internal/code/unnamedcode"
	"prywalk/internal/show/view"
	"prywalk/internal/store/profile"
	"prywalk/internal/walk/waits"
)

// Frame is a function in tables, named as in report.
type Frame struct {
	view.Frame
	// mapping is the mapping's file; ruleFile the source file, if idle rules use it.
	mapping, ruleFile string
}

// maxNamedStacks bounds FunctionTable.whole.
const maxNamedStacks = 1 << 16

// FunctionTable numbers the functions of stacks. It is for one [Store], whose lock guards it.
type FunctionTable struct {
	names      *profile.Names
	frames     []Frame
	index      map[Frame]int32
	numbers    map[namedFunction]int32
	whole      map[sample.StackID][]int32 // completely named stacks
	paths      []string
	knownPaths map[string]bool
	buf        []profile.Named
	renamed    int64
}

// namedFunction has paths of the mapping's and the source file.
type namedFunction struct{ name, mapping, source string }

// NewFunctionTable returns a table of a recording's functions.
func NewFunctionTable(names *profile.Names) *FunctionTable {
	return &FunctionTable{names: names, index: map[Frame]int32{}, whole: map[sample.StackID][]int32{},
		numbers: map[namedFunction]int32{}, knownPaths: map[string]bool{}}
}

func (t *FunctionTable) update() {
	renamed := t.names.Renamed()
	if renamed != t.renamed {
		clear(t.whole)
	}
	t.renamed = renamed
}

// functionsOf returns modules in place of missing names, innermost first.
func (t *FunctionTable) functionsOf(id sample.StackID) []int32 {
	if fs, ok := t.whole[id]; ok {
		return fs
	}
	if id == evictedStack {
		return []int32{t.frameIndex(Frame{Frame: view.Frame{Name: evictedName}})}
	}
	var out, machinery []int32
	final := true
	t.buf = t.names.Stack(id, nil, t.buf[:0])
	for i := range t.buf {
		l := &t.buf[i]
		final = final && l.Final
		if l.Machinery {
			machinery = t.appendFrames(l, machinery)
			continue
		}
		out = t.appendFrames(l, out)
	}
	if len(out) == 0 {
		out = machinery
	}
	if final {
		if len(t.whole) >= maxNamedStacks {
			clear(t.whole)
		}
		t.whole[id] = out
	}
	return out
}

func (t *FunctionTable) appendFrames(l *profile.Named, out []int32) []int32 {
	path := t.pathOf(l.Module)
	before := len(out)
	for i := range l.Frames {
		if f := &l.Frames[i]; f.Name != "" {
			out = append(out, t.numberOf(namedFunction{f.Name, path, f.File}))
		}
	}
	if len(out) == before {
		out = append(out, t.numberOf(namedFunction{unnamedcode.Bracketed(view.ModuleName(path)), path, ""}))
	}
	return out
}

// numberOf makes a function's frame once: regular expressions take microseconds.
func (t *FunctionTable) numberOf(f namedFunction) int32 {
	n, ok := t.numbers[f]
	if !ok {
		module := view.ModuleName(f.mapping)
		n = t.frameIndex(Frame{Frame: view.FrameOf(f.name, f.mapping, f.source), mapping: module,
			ruleFile: waits.RulesFile(module, f.source)})
		t.numbers[f] = n
	}
	return n
}

func (t *FunctionTable) pathOf(m *profile.ModuleInfo) string {
	if m == nil || m.Path == "" {
		return ""
	}
	if !t.knownPaths[m.Path] {
		t.knownPaths[m.Path] = true
		t.paths = append(t.paths, m.Path)
	}
	return m.Path
}

func (t *FunctionTable) frameIndex(f Frame) int32 {
	k, ok := t.index[f]
	if !ok {
		k = int32(len(t.frames))
		t.index[f] = k
		t.frames = append(t.frames, f)
	}
	return k
}
