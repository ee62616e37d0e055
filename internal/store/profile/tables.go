// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/binary"
	"slices"
	"strings"

	"prywalk/internal/base/sample"
)

// module and synthetic are an index plus one, or 0 if there is none.
type location struct {
	addr      uint64
	module    uint32
	synthetic uint32
	framesID  FramesID
	machinery bool
}

// labelSet is an interval without stack and times: its labels.
type labelSet Interval

// Code of a file is the same at any address: start is 0, bias relative to it.
type moduleKey struct {
	start, size, offset, bias uint64
	path, buildID             string
	owner                     int
	file                      FileID
}

func (m *ModuleInfo) key() moduleKey {
	k := moduleKey{m.Start, m.End - m.Start, m.FileOffset, m.Bias - m.Start, m.Path, m.BuildID, m.Owner, m.File}
	if m.Grows {
		k.size = 0
	}
	if m.File != 0 && m.Owner == 0 {
		k.start = 0
	}
	return k
}

// The lists are append-only, so that a copy is consistent, except modules and finalNames.
type numbered struct {
	modules    []*ModuleInfo
	names      []string
	locs       []location
	stacks     []string                  // locSize bytes per location, innermost first
	base       sample.StackID            // number of stacks[0]
	survivors  map[sample.StackID]string // before base; not changed after the eviction
	labels     []labelSet
	frameLists [][]Frame  // by FramesID − 1
	finalNames []FramesID // may be shorter than locs
}

type tables struct {
	numbered
	// usedByEpoch are the stacks used in this epoch and in the last; nil means no epochs.
	usedByEpoch [2]map[sample.StackID]struct{}

	byFrames map[string]FramesID
	byModule map[moduleKey]uint32
	byName   map[string]uint32
	byLoc    map[location]uint32
	byStack  map[string]sample.StackID
	byLabels map[labelSet]uint32
	key      []byte
}

func newTables() tables {
	return tables{
		byFrames: map[string]FramesID{},
		byModule: map[moduleKey]uint32{},
		byName:   map[string]uint32{},
		byLoc:    map[location]uint32{},
		byStack:  map[string]sample.StackID{},
		byLabels: map[labelSet]uint32{},
	}
}

func (t *tables) module(m *ModuleInfo) uint32 {
	k := m.key()
	i, ok := t.byModule[k]
	switch {
	case !ok:
		i = uint32(len(t.modules))
		t.modules = append(t.modules, m)
		t.byModule[k] = i
	case m.Grows && m.End > t.modules[i].End:
		t.modules[i] = m
	}
	return i
}

// NumberIn returns the index of x in list, to which it appends a new x. numbers has all indices.
func NumberIn[T comparable, N int | int32 | uint32](list *[]T, numbers map[T]N, x T) N {
	n, ok := numbers[x]
	if !ok {
		n = N(len(*list))
		*list = append(*list, x)
		numbers[x] = n
	}
	return n
}

func (t *tables) nameNumber(s string) uint32 { return NumberIn(&t.names, t.byName, s) }

// loc numbers a location. Addresses of a module with equal frames are one: recompiled functions move.
func (t *tables) loc(l *Loc) uint32 {
	numbers := location{framesID: l.FramesID, machinery: l.Machinery}
	switch {
	case l.Synthetic != "":
		numbers.synthetic = t.nameNumber(l.Synthetic) + 1
	case l.Module != nil:
		i := t.module(l.Module)
		numbers.module, numbers.addr = i+1, l.Addr-l.Module.Start+t.modules[i].Start
	default:
		numbers.addr = l.Addr
	}
	key := numbers
	if l.FramesID != 0 {
		key.addr = 0
	}
	i, ok := t.byLoc[key]
	if !ok {
		i = uint32(len(t.locs))
		t.locs = append(t.locs, numbers)
		t.byLoc[key] = i
	}
	return i
}

var noStack = []Loc{{Synthetic: "[no stack]"}}

func (t *tables) stack(stack []Loc) sample.StackID {
	if len(stack) == 0 {
		stack = noStack
	}
	t.key = t.appendLocs(t.key[:0], stack)
	return t.internKey()
}

func (t *tables) stackOf(stack []LocID) sample.StackID {
	if len(stack) == 0 {
		return t.stack(nil)
	}
	t.key = slices.Grow(t.key[:0], locSize*len(stack))
	for _, l := range stack {
		t.key = binary.LittleEndian.AppendUint32(t.key, uint32(l))
	}
	return t.internKey()
}

const locSize = 4

func firstLoc(stack string) uint32 {
	return uint32(stack[0]) | uint32(stack[1])<<8 | uint32(stack[2])<<16 | uint32(stack[3])<<24
}

func (t *tables) appendLocs(key []byte, stack []Loc) []byte {
	key = slices.Grow(key, locSize*len(stack))
	for i := range stack {
		key = binary.LittleEndian.AppendUint32(key, t.loc(&stack[i]))
	}
	return key
}

func (t *tables) internKey() sample.StackID {
	if id, ok := t.byStack[string(t.key)]; ok {
		t.markUsed(id)
		return id
	}
	s := string(t.key)
	id := t.base + sample.StackID(len(t.stacks))
	t.stacks = append(t.stacks, s)
	t.byStack[s] = id
	t.markUsed(id)
	return id
}

func labelsOf(iv *Interval) labelSet {
	l := labelSet(*iv)
	l.Stack, l.Start, l.End, l.Samples, l.Wall, l.RunQueue, l.CPU, l.Before = 0, 0, 0, 0, 0, 0, 0, 0
	return l
}

func (t *tables) labelNumber(k labelSet) uint32 { return NumberIn(&t.labels, t.byLabels, k) }

// InternFrames numbers the functions of a managed frame, innermost inlined call first. The slice is not kept.
func (b *Builder) InternFrames(fs []Frame) FramesID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tables.internFrames(fs)
}

func (t *tables) internFrames(fs []Frame) FramesID {
	t.key = t.key[:0]
	for i := range fs {
		t.key = t.appendFrame(t.key, &fs[i])
	}
	if id, ok := t.byFrames[string(t.key)]; ok {
		return id
	}
	list := make([]Frame, len(fs))
	for i, f := range fs {
		f.Name, f.System, f.File = t.shared(f.Name), t.shared(f.System), t.shared(f.File)
		list[i] = f
	}
	t.frameLists = append(t.frameLists, list)
	id := FramesID(len(t.frameLists))
	t.byFrames[string(t.key)] = id
	return id
}

func (t *tables) appendFrame(key []byte, f *Frame) []byte {
	for _, s := range [...]string{f.Name, f.System, f.File} {
		key = binary.AppendUvarint(key, uint64(t.nameNumber(s)))
	}
	key = binary.AppendVarint(key, int64(f.Line))
	key = binary.AppendVarint(key, int64(f.StartLine))
	if f.Inlined {
		return append(key, 1)
	}
	return append(key, 0)
}

func (t *tables) shared(s string) string {
	if s == "" {
		return ""
	}
	return t.names[t.nameNumber(s)]
}

// SystemNameOfType returns a function's system name with its frame type.
func SystemNameOfType(name, typ string) string {
	if typ == "" {
		return ""
	}
	return name + " [" + typ + "]"
}

// FrameType returns the frame type at the end of a system name, or "".
func FrameType(name, system string) string {
	i := strings.LastIndex(system, " [")
	if i < 0 || !strings.HasSuffix(system, "]") {
		return ""
	}
	typ := system[i+2 : len(system)-1]
	isType := typ != "" && strings.Trim(typ, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
	if typ == Machinery || system[:i] == name && isType {
		return typ
	}
	return ""
}
