// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"prywalk/frames"
	"prywalk/internal/base/cache"
	"prywalk/internal/walk/managed"
)

// # Stack chunk (HotSpot, src/hotspot/share/runtime/continuation.cpp)
//
//	start                    sp                      bottom       size
//	│ unused                 │ frames, as on a thread │ arguments │        sp, bottom and size are in words
//
// pc is the innermost frame's. An interpreted frame's words are relative to its frame pointer, and the word below a
// frame that has its frame pointer, to that word. The outermost chunk ends with jdk.internal.vm.Continuation.enter.

type stackChunk struct {
	at, sp, end, pc uint64 // addresses; at: of the object
	from            int    // in the thread's words
}

const (
	maxChunks     = 256
	maxChunkBytes = 1 << 22
	metadataWords = 2 // frame pointer and return address
	// Indices (classfile/javaClasses.hpp, STACKCHUNK_INJECTED_FIELDS), and a flag: a monitor stopped the thread.
	injectedFlags = 1
	injectedPC    = 2
	flagPreempted = 64
)

// A thread without a carrier is in yieldFunction, or waits for a monitor. A running thread's chunks lack its innermost
// frames, so these two prove that the state and the chunks are of one moment.
const (
	firstFunction = "jdk.internal.vm.Continuation.enter"
	yieldFunction = "jdk.internal.vm.Continuation.yield"
)

func (v *virtualThreads) learnChunk() bool {
	klass := v.classes[classChunk]
	m := v.threads.vm.memory()
	v.stackAt = uint64(m.int32(klass+v.threads.layout.offset("Klass::_layout_helper"))) &^ 7
	if m.err != nil || v.stackAt == 0 || v.stackAt > maxInObject {
		return false
	}
	v.pcAt = v.threads.injectedOffset(klass, injectedPC)
	v.flagsAt = v.threads.injectedOffset(klass, injectedFlags)
	return v.pcAt != 0 && v.pcAt%8 == 0 && v.flagsAt != 0
}

// readChunks reads the chunks with frames; it returns false if one is not readable, or invalid.
func (v *virtualThreads) readChunks(cont uint64, t *virtualThread) bool {
	chunk := v.follow(cont + v.field(classContinuation+".tail"))
	for n := 0; chunk != 0; n++ {
		if n == maxChunks || v.threads.klassOf(chunk, v.threads.oops.header) != v.classes[classChunk] {
			return false
		}
		number := func(name string) uint64 { return v.numberAt(chunk + v.field(classChunk+"."+name)) }
		size, sp, pc := number("size"), number("sp"), v.wordAt(chunk+v.pcAt)
		var bottom uint64
		if v.field(classChunk+".bottom") != 0 {
			bottom = number("bottom")
		} else {
			bottom = size - number("argsize")
		}
		if v.lost > 0 || bottom > size || sp > size || 8*size > maxChunkBytes {
			return false
		}
		if start := chunk + v.stackAt; sp < bottom {
			c := stackChunk{chunk, start + 8*sp, start + 8*bottom, pc, len(t.words)}
			if sp < metadataWords {
				return false
			}
			from, m := c.sp-8*metadataWords, v.threads.vm.memory()
			t.words = slices.Grow(t.words, int(start+8*size-from))[:c.from+int(start+8*size-from)]
			if !m.bytes(from, t.words[c.from:]) {
				return false
			}
			if len(t.chunks) == 0 {
				var flags [1]byte
				t.preempted = m.bytes(chunk+v.flagsAt, flags[:]) && flags[0]&flagPreempted != 0
			}
			t.chunks = append(t.chunks, c)
		}
		chunk = v.follow(chunk + v.field(classChunk+".parent"))
	}
	return v.lost == 0
}

// stackOf names the frames of a proven reading.
func (v *virtualThreads) stackOf(t *virtualThread) (*virtualStack, managed.TaskStatus) {
	mem := &frames.Snapshot{}
	for i := range t.chunks {
		c := &t.chunks[i]
		to := len(t.words)
		if i+1 < len(t.chunks) {
			to = t.chunks[i+1].from
		}
		mem.Others = append(mem.Others, frames.Region{Addr: c.sp - 8*metadataWords, Bytes: t.words[c.from:to]})
	}
	j := v.java
	j.validity.sample.Mem, j.deoptimizing = mem, false
	refs := v.refs[:0]
	for i := range t.chunks {
		var ok bool
		if refs, ok = v.walkChunk(&t.chunks[i], mem, refs); !ok {
			return nil, managed.TaskUnproven
		}
	}
	v.refs = refs
	key := v.key[:0]
	for _, r := range refs {
		key = binary.LittleEndian.AppendUint64(append(key, r.Kind), r.Object)
		key = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(key, r.Position), r.Cookie)
	}
	v.key = key
	if s := v.known[string(key)]; s != nil {
		return s, managed.TaskKnown
	}
	var list []managed.Frame
	for _, r := range refs {
		more, certainty := j.symbolize(r, nil, list)
		if certainty == managed.Freed {
			return nil, managed.TaskChanges
		}
		if more[len(list)].Type != "stub" {
			list = more
		}
	}
	if len(list) == 0 || !strings.HasPrefix(list[len(list)-1].Function, firstFunction) {
		return nil, managed.TaskUnproven
	}
	s := v.intern(list)
	cache.Put(&v.known, maxKnown, string(key), s)
	return s, managed.TaskKnown
}

// intern returns one stack for equal functions and lines, however they are compiled.
func (v *virtualThreads) intern(list []managed.Frame) *virtualStack {
	var text []byte
	for i := range list {
		list[i].Type, list[i].Inlined = "", false
		text = fmt.Appendf(text, "%s\x00%s\x00%d\x00", list[i].Function, list[i].File, list[i].Line)
	}
	s := v.byFrames[string(text)]
	if s == nil {
		s = newVirtualStack(list)
		cache.Put(&v.byFrames, maxKnown, string(text), s)
	}
	return s
}

// walkChunk appends a chunk's frames; it returns false if an address is not after a call in known code.
func (v *virtualThreads) walkChunk(c *stackChunk, mem frames.Memory, out []managed.Ref) ([]managed.Ref, bool) {
	sp, unextended, pc := c.sp, c.sp, c.pc
	localsAt := v.threads.vm.interpretedFrame().bytecode - 8
	for sp < c.end {
		b, ok := v.threads.vm.find(pc)
		if !ok {
			return out, false
		}
		f := frames.Frame{PC: pc, SP: sp, AfterCall: true, Module: generatedCode}
		below := sp - 16
		link, ok1 := mem.Word(below)
		if b.kind == kindInterpreter {
			f.FP = below + 8*link
		}
		var refs bool
		if out, refs = v.java.managedFrames(&f, out); !refs || !ok1 {
			return out, false
		}
		switch {
		case b.kind == kindInterpreter:
			sender, ok1 := mem.Word(f.FP - 8)
			locals, ok2 := mem.Word(f.FP - localsAt)
			if f.FP <= below || f.FP >= c.end || !ok1 || !ok2 {
				return out, false
			}
			if sp, unextended = f.FP+16, f.FP+8*sender; f.FP+8*locals+8 >= c.end {
				return out, true
			}
		case b.frameWords > 0:
			sp = unextended + 8*uint64(b.frameWords)
			unextended = sp
		default:
			return out, false
		}
		if sp+8*metadataWords >= c.end {
			break
		}
		if pc, ok = mem.Word(sp - 8); !ok {
			return out, false
		}
	}
	return out, true
}

var generatedCode = &frames.Module{Generated: true}
