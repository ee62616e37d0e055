// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/binary"
	"slices"

	"prywalk/internal/sample"
)

// location is a Loc with its strings and modules as numbers. synthetic is the
// index of a name plus one; 0 for code.
type location struct {
	addr      uint64
	module    uint32 // index of a module plus one; 0: in no module
	synthetic uint32
	described DescriptionID
	machinery bool
}

// labelSet is what the samples of one thread in one state share.
type labelSet struct {
	pid, tid, nsPID, nsTID    int
	comm, thread, state, wait string
	waitsFor, role            string
	owner                     int
}

// moduleKey is a ModuleInfo without what does not tell modules apart. The code of a file is the same wherever it is
// mapped: start is 0 then, and bias is counted from the start. Else each process that runs a program would add modules,
// locations and stacks of its own, because of the addresses that the kernel draws for it.
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

// maxPointers bounds the shortcut from a module's pointer to its number, for
// callers that describe the same module anew again and again.
const maxPointers = 1 << 16

// tables number what repeats. The slices are only ever appended to, so that a copy
// of their headers is a consistent view. Modules can grow: their list is copied.
type tables struct {
	modules []*ModuleInfo
	names   []string
	locs    []location
	stacks  []string        // location numbers, locSize bytes each, innermost first
	labels  []labelSet      // of intervals that are added up; the journal has its own
	told    [][]Frame       // by DescriptionID, less one
	settled []DescriptionID // what a Settler has said of locations; it may be shorter than locs

	byTold    map[string]DescriptionID
	byPointer map[*ModuleInfo]uint32
	byModule  map[moduleKey]uint32
	byName    map[string]uint32
	byLoc     map[location]uint32
	byStack   map[string]sample.StackID
	byLabels  map[labelSet]uint32
	key       []byte
}

func newTables() tables {
	return tables{
		byTold:    map[string]DescriptionID{},
		byPointer: map[*ModuleInfo]uint32{},
		byModule:  map[moduleKey]uint32{},
		byName:    map[string]uint32{},
		byLoc:     map[location]uint32{},
		byStack:   map[string]sample.StackID{},
		byLabels:  map[labelSet]uint32{},
	}
}

// module gives a module's index.
func (t *tables) module(m *ModuleInfo) uint32 {
	if i, ok := t.byPointer[m]; ok {
		return i
	}
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
	if len(t.byPointer) >= maxPointers {
		clear(t.byPointer)
	}
	t.byPointer[m] = i
	return i
}

// name gives the index of a synthetic entry's name.
func (t *tables) name(s string) uint32 {
	i, ok := t.byName[s]
	if !ok {
		i = uint32(len(t.names))
		t.names = append(t.names, s)
		t.byName[s] = i
	}
	return i
}

// loc gives the number of a location. Places of a module that a run-time system has told the same of are one, with the
// address that came first. A program that compiles its functions again and again has ever new addresses of them.
func (t *tables) loc(l *Loc) uint32 {
	k := location{described: l.Described, machinery: l.Machinery}
	switch {
	case l.Synthetic != "":
		k.synthetic = t.name(l.Synthetic) + 1
	case l.Module != nil:
		i := t.module(l.Module)
		k.module, k.addr = i+1, l.Addr-l.Module.Start+t.modules[i].Start
	default:
		k.addr = l.Addr
	}
	of := k
	if l.Described != 0 {
		of.addr = 0
	}
	i, ok := t.byLoc[of]
	if !ok {
		i = uint32(len(t.locs))
		t.locs = append(t.locs, k)
		t.byLoc[of] = i
	}
	return i
}

// noStack stands where a stack has no entry at all.
var noStack = []Loc{{Synthetic: "[no stack]"}}

// stack gives the number of a stack. It allocates only for one not seen before.
func (t *tables) stack(stack []Loc) sample.StackID {
	if len(stack) == 0 {
		stack = noStack
	}
	t.key = t.append(t.key[:0], stack)
	return t.known()
}

// stackOf is stack for locations that have numbers.
func (t *tables) stackOf(stack []LocID) sample.StackID {
	if len(stack) == 0 {
		return t.stack(nil)
	}
	t.key = slices.Grow(t.key[:0], locSize*len(stack))
	for _, l := range stack {
		t.key = binary.LittleEndian.AppendUint32(t.key, uint32(l))
	}
	return t.known()
}

// locSize is what the number of a location takes in a stack.
const locSize = 4

// append adds the numbers of locations to a key.
func (t *tables) append(key []byte, stack []Loc) []byte {
	key = slices.Grow(key, locSize*len(stack))
	for i := range stack {
		key = binary.LittleEndian.AppendUint32(key, t.loc(&stack[i]))
	}
	return key
}

// known gives the number of the stack whose locations are in t.key.
func (t *tables) known() sample.StackID {
	if id, ok := t.byStack[string(t.key)]; ok {
		return id
	}
	s := string(t.key)
	id := sample.StackID(len(t.stacks))
	t.stacks = append(t.stacks, s)
	t.byStack[s] = id
	return id
}

// labelsOf gives an interval's labels.
func labelsOf(iv *Interval) labelSet {
	return labelSet{iv.PID, iv.TID, iv.NSPID, iv.NSTID, iv.Comm, iv.Thread, iv.State, iv.Wait, iv.WaitsFor, iv.Role,
		iv.Owner}
}

// labelSet gives the number of an interval's labels.
func (t *tables) labelSet(iv *Interval) uint32 {
	k := labelsOf(iv)
	i, ok := t.byLabels[k]
	if !ok {
		i = uint32(len(t.labels))
		t.labels = append(t.labels, k)
		t.byLabels[k] = i
	}
	return i
}
