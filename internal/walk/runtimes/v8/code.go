// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
)

// # Compiled code
//
// On-stack replacement and recompilation change a function's code. So it is found by a header with the addresses of
// its map and its Code (src/objects/instruction-stream.h), searched downwards and verified by the start of the
// instructions.
//
//	InstructionStream                 Code
//	  map                               deoptimization data, or of baseline code its bytecodes
//	  code  ───────────────────────►    table of positions, or of baseline code of offsets
//	  …                                 instruction_start ──┐
//	  instructions ◄────────────────────────────────────────┘
//
// Up to V8 10 both are one object.

type code struct {
	object         uint64
	start, end     uint64
	kind           string
	head           [codeHead]byte
	deoptDataAt    uint64
	deoptData      [deoptDataHead]byte
	optimizationID uint64 // of the compilation, unique in an isolate
	shared         uint64
	wrapper        uint64 // or 0
	function       *function
	positions      []byte
	bytecodes      uint64 // of baseline code, or 0
	inlined        []inlinedCall
	unread         bool  // of the function or an inlined call
	exits          int   // start of the deoptimization exits, or 0
	since          int64 // in nanoseconds of CLOCK_MONOTONIC
	checked        int64 // last read
}

// cookie is for Refs to optimized code. Precondition: the function is known.
func (c *code) cookie() uint64 { return c.optimizationID ^ c.function.cookie<<1 }

// size is of the tables, in bytes.
func (c *code) size() int { return len(c.positions) + 16*len(c.inlined) }

type inlinedCall struct {
	at       position
	function *function
	unread   bool
}

const (
	codeHead      = 64
	deoptDataHead = 16 + 10*8
	maxCode       = 4 << 20 // bytes
	maxCodes      = 1 << 13
	maxInlined    = 1 << 12
	scanBlock     = 4 << 10 // bytes
	optimizedID   = 1       // words before layout.shared
)

// emptyRange is memory without headers of code, as WebAssembly's.
type emptyRange struct {
	span managed.Span
	at   int64 // in nanoseconds of CLOCK_MONOTONIC
}

const (
	emptyRangeFor  = int64(time.Second)
	maxEmptyRanges = 64
)

type codes struct {
	heap        *heap
	functions   *functions
	byStart     []*code
	scan        []byte
	emptyRanges []emptyRange
	places      codePlaces
}

func (r *codes) codeAt(pc uint64) *code {
	c, _ := r.codeAbove(0, pc)
	return c
}

// codeAbove returns the code at pc, searched down to floor, or nil; missed was searched in vain.
func (r *codes) codeAbove(floor, pc uint64) (c *code, missed managed.Span) {
	if c := r.cachedAt(pc); c != nil {
		return c, missed
	}
	if c, missed = r.findCode(pc, floor); c == nil || !r.sameCode(c) {
		return nil, missed
	}
	c.since = c.checked
	if c.optimizationID != 0 {
		r.places.record(c.start, c.optimizationID)
	}
	r.keep(c)
	return c, missed
}

func (r *codes) cachedAt(pc uint64) *code {
	i, ok := slices.BinarySearchFunc(r.byStart, pc, func(c *code, pc uint64) int {
		switch {
		case c.end <= pc:
			return -1
		case c.start > pc:
			return 1
		}
		return 0
	})
	if !ok {
		return nil
	}
	if c := r.byStart[i]; !c.unread && (c.checked >= r.functions.copiedAt && r.functions.copiedAt != 0 || r.sameCode(c)) {
		return c
	}
	r.byStart = slices.Delete(r.byStart, i, i+1)
	return nil
}

func (r *codes) keep(c *code) {
	size := c.size()
	r.byStart = slices.DeleteFunc(r.byStart, func(o *code) bool {
		size += o.size()
		return o.start < c.end && c.start < o.end
	})
	for len(r.byStart) >= maxCodes || size > maxKept && len(r.byStart) > 0 {
		oldest := slices.MinFunc(r.byStart, func(a, b *code) int { return cmp.Compare(a.checked, b.checked) })
		size -= oldest.size()
		r.byStart = slices.DeleteFunc(r.byStart, func(o *code) bool { return o == oldest })
	}
	i, _ := slices.BinarySearchFunc(r.byStart, c.start, func(o *code, start uint64) int {
		return cmp.Compare(o.start, start)
	})
	r.byStart = slices.Insert(r.byStart, i, c)
}

func (r *codes) sameCode(c *code) bool {
	var head [codeHead]byte
	var deopt [deoptDataHead]byte
	var to [8]byte
	r.heap.parts = append(r.heap.parts[:0], frames.Region{Addr: c.object - heapObjectTag, Bytes: head[:]})
	if c.deoptDataAt != 0 {
		r.heap.parts = append(r.heap.parts, frames.Region{Addr: c.deoptDataAt - heapObjectTag, Bytes: deopt[:]})
	}
	if c.wrapper != 0 {
		r.heap.parts = append(r.heap.parts, frames.Region{Addr: c.wrapper - heapObjectTag + 8, Bytes: to[:]})
	}
	if !r.heap.readParts(r.heap.parts) || !r.sameHead(&head, &c.head) || deopt != c.deoptData && c.deoptDataAt != 0 {
		return false
	}
	if c.wrapper != 0 && binary.LittleEndian.Uint64(to[:]) != c.shared {
		return false
	}
	if c.shared != 0 && r.functions.functionOf(c.shared) != c.function {
		return false
	}
	c.checked = procmem.Now()
	return true
}

// sameHead compares heads of code without the flags, which change.
func (r *codes) sameHead(a, b *[codeHead]byte) bool {
	f := r.heap.build.codeFlags
	return string(a[:f]) == string(b[:f]) && string(a[f+4:]) == string(b[f+4:])
}

// findCode searches downwards from pc, except in [codes.emptyRanges].
func (r *codes) findCode(pc, floor uint64) (c *code, missed managed.Span) {
	end := pc&^7 + 8
	c, low := r.findHeader(pc, end, floor)
	if c != nil && pc >= c.start && pc < c.end {
		return c, missed
	}
	return nil, managed.Span{Start: low, End: end}
}

func (r *codes) dropEmptyRanges() {
	now := procmem.Now()
	r.emptyRanges = slices.DeleteFunc(r.emptyRanges, func(b emptyRange) bool { return now-b.at >= emptyRangeFor })
}

// keepEmptyRange keeps what a search missed as an empty range; skipped parts of it were read earlier.
func (r *codes) keepEmptyRange(missed managed.Span) {
	b := emptyRange{missed, procmem.Now()}
	r.emptyRanges = slices.DeleteFunc(r.emptyRanges, func(o emptyRange) bool {
		within := o.span.Start >= b.span.Start && o.span.End <= b.span.End
		if within {
			b.at = min(b.at, o.at)
		}
		return within
	})
	if b.span.Start < b.span.End && len(r.emptyRanges) < maxEmptyRanges {
		r.emptyRanges = append(r.emptyRanges, b)
	}
}

// findHeader returns the code with the nearest header below end, or nil. low is the end of the nearest map of such
// code.
func (r *codes) findHeader(pc, end, floor uint64) (found *code, low uint64) {
	if r.scan == nil {
		r.scan = make([]byte, scanBlock)
	}
	top := end
	for top+maxCode > pc && top > max(scanBlock, floor) {
		if i := slices.IndexFunc(r.emptyRanges, func(b emptyRange) bool { return b.span.Has(top - 1) }); i >= 0 {
			top = r.emptyRanges[i].span.Start
			continue
		}
		base := (top - 1) &^ (scanBlock - 1)
		b := r.scan[:top-base]
		if r.heap.live.Read(base, b) != len(b) {
			break
		}
		c, mapEnd := r.headerIn(b, base, pc)
		if low = cmp.Or(low, mapEnd); c != nil {
			return c, low
		}
		top = base
	}
	return nil, cmp.Or(low, top)
}

// headerIn returns the code with the last header in a block of memory at base, or nil. mapEnd is the end of the last
// map of such code, or 0.
func (r *codes) headerIn(block []byte, base, pc uint64) (found *code, mapEnd uint64) {
	for at := len(block) - 8; at >= 0; at -= 8 {
		w := binary.LittleEndian.Uint64(block[at:])
		if !isObject(w) || !r.heap.isInstructionStreamMap(w) {
			continue
		}
		mapEnd = cmp.Or(mapEnd, base+uint64(at)+8)
		c := r.readCodeObject(base + uint64(at) + heapObjectTag)
		if c == nil || r.heap.build.codeStart == 0 && (pc < c.start || pc >= c.end) {
			continue
		}
		if pc < c.end {
			r.heap.instructionStreamMap = w
		}
		return c, mapEnd
	}
	return nil, mapEnd
}

func (r *codes) readCodeObject(stream uint64) *code {
	l := r.heap.build
	c := &code{object: stream, start: stream - heapObjectTag + l.headerSize, checked: procmem.Now()}
	if l.codeStart != 0 {
		var ok bool
		if c.object, ok = r.heap.ofType(r.heap.field(stream, 8), l.types.code); !ok {
			return nil
		}
	}
	if r.heap.live.Read(c.object-heapObjectTag, c.head[:]) != len(c.head) {
		return nil
	}
	word := func(off uint64) uint64 { return binary.LittleEndian.Uint64(c.head[off:]) }
	if l.codeStart != 0 && word(l.codeStart) != c.start {
		return nil
	}
	size := uint64(binary.LittleEndian.Uint32(c.head[l.codeSize:]))
	if size == 0 || size > maxCode {
		return nil
	}
	c.end = c.start + size
	c.kind = l.kinds[c.head[l.codeFlags]&15]
	if c.kind == "" || c.kind == kindRegExp {
		return c
	}
	c.positions = r.heap.array(word(l.codePositions), 1, maxTable)
	if c.kind == kindBaseline {
		c.bytecodes, _ = r.heap.ofType(word(l.codeDeopt), l.types.bytecodes)
		return c
	}
	r.readDeopt(c, word(l.codeDeopt))
	c.unread = c.unread || c.function == nil
	return c
}

// readDeopt reads the function and inlined calls (src/objects/deoptimization-data.h).
func (r *codes) readDeopt(c *code, w uint64) {
	l := r.heap.build
	object, typ := r.heap.object(w)
	if typ == noType || r.heap.live.Read(object-heapObjectTag, c.deoptData[:]) != len(c.deoptData) {
		return
	}
	c.deoptDataAt = object
	word := func(i int) uint64 {
		return binary.LittleEndian.Uint64(c.deoptData[min(16+8*max(i, 0), deoptDataHead-8):])
	}
	c.shared, c.optimizationID = word(l.shared), word(l.shared-optimizedID)
	if l.wrapped {
		wrapper, ok := r.heap.ofType(c.shared, l.types.wrapper)
		if !ok {
			return
		}
		c.wrapper, c.shared = wrapper, r.heap.field(wrapper, 8)
	}
	if c.function = r.functions.functionOf(c.shared); c.function == nil {
		c.shared = 0
		return
	}
	c.exits, _ = smiValue(word(l.exitStart))
	r.readInlined(c, word(l.literals), word(l.inlining))
}

// readInlined reads positions, and functions by index among the literals (InliningPosition in
// src/codegen/source-position.h).
func (r *codes) readInlined(c *code, literals, inlining uint64) {
	calls := r.heap.array(inlining, 16, maxInlined)
	if n := r.heap.array(inlining, 1, 16*maxInlined); len(n) >= 16 {
		calls = n
	}
	if len(calls) < 16 {
		return
	}
	all := r.heap.array(literals, 8, 1<<16)
	for ; len(calls) >= 16; calls = calls[16:] {
		call := inlinedCall{at: position(binary.LittleEndian.Uint64(calls))}
		if i := int(int32(binary.LittleEndian.Uint32(calls[8:]))); i >= 0 && 8*i+8 <= len(all) {
			w := binary.LittleEndian.Uint64(all[8*i:])
			if w&heapObjectTagMask == weakHeapObjectTag {
				w &^= weakHeapObjectTag ^ heapObjectTag
			}
			call.function = r.functions.functionOf(w)
			call.unread = call.function == nil
			c.unread = c.unread || call.unread
		}
		c.inlined = append(c.inlined, call)
	}
}
