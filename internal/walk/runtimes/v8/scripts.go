// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"bytes"
	"encoding/binary"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"prywalk/frames"
	"prywalk/internal/base/cache"
	"prywalk/internal/host/procmem"
)

// script is a source file or compiled text (src/objects/script.h).
type script struct {
	id        int
	name      string
	named     bool
	firstLine int // of an embedded script
	ends      []int32
	tries     int   // to read ends
	listedAt  int64 // when its functions were listed, in nanoseconds of CLOCK_MONOTONIC
}

const (
	maxSource  = 64 << 20 // characters
	maxScripts = 1 << 12
	maxLines   = 1 << 22
	maxTries   = 8
)

const unnamed = "<anonymous>"

const scriptLine = 24 // first line, after the name

func (r *functions) scriptOf(w uint64) *script {
	object, ok := r.heap.ofType(w, r.heap.build.types.script)
	if !ok {
		return nil
	}
	id, ok := smiValue(r.heap.field(object, r.heap.build.scriptID))
	if !ok {
		return nil
	}
	if s := r.scripts[object]; s != nil && s.id == id {
		return s
	}
	s := &script{id: id, name: unnamed}
	for _, at := range []uint64{r.heap.build.scriptName, r.heap.build.scriptURL} {
		w := r.heap.field(object, at)
		name, ok := r.heap.text(w)
		_, typ := r.heap.object(w)
		if r.heap.field(object, at) != w || !ok && typ == noType { // the collector has moved the name or the script
			return nil
		}
		if ok && name != "" {
			s.name, s.named = fileName(name), at == r.heap.build.scriptName
			break
		}
	}
	if first, ok := smiValue(r.heap.field(object, scriptLine)); ok && first > 0 {
		s.firstLine = first
	}
	cache.Put(&r.scripts, maxScripts, object, s)
	return s
}

func fileName(name string) string {
	path, ok := strings.CutPrefix(name, "file://")
	if !ok {
		return name
	}
	if p, err := url.PathUnescape(path); err == nil {
		return p
	}
	return path
}

// line is from 1, or 0. at is the script's address.
func (r *functions) line(s *script, at uint64, offset int) int {
	if offset < 0 {
		return 0
	}
	if len(s.ends) == 0 && s.tries < maxTries {
		s.tries++
		if s.ends = r.lineEnds(at); len(s.ends) == 0 {
			s.ends = r.sourceEnds(at)
		}
		r.kept += 4 * len(s.ends)
	}
	if len(s.ends) == 0 || offset > int(s.ends[len(s.ends)-1]) {
		return 0
	}
	i, _ := slices.BinarySearch(s.ends, int32(offset))
	return s.firstLine + i + 1
}

func (r *functions) lineEnds(at uint64) []int32 {
	w := r.heap.field(at, r.heap.build.scriptEnds)
	if _, ok := r.heap.ofType(w, r.heap.build.types.fixedArray); !ok {
		return nil
	}
	b := r.heap.array(w, 8, maxLines)
	ends := make([]int32, 0, len(b)/8)
	last := -1
	for ; len(b) >= 8; b = b[8:] {
		end, ok := smiValue(binary.LittleEndian.Uint64(b))
		if !ok || end <= last {
			return nil
		}
		ends, last = append(ends, int32(end)), end
	}
	if r.heap.field(at, r.heap.build.scriptEnds) != w { // moved
		return nil
	}
	return ends
}

// sourceEnds is V8's String::CalculateLineEnds.
func (r *functions) sourceEnds(at uint64) []int32 {
	b, wide, ok := r.heap.characters(r.heap.field(at, r.heap.build.scriptSource), 0, maxSource)
	if !ok {
		return nil
	}
	n, unit := len(b), func(i int) uint16 { return uint16(b[i]) }
	if wide {
		n, unit = len(b)/2, func(i int) uint16 { return binary.LittleEndian.Uint16(b[2*i:]) }
	}
	var ends []int32
	for i := range n {
		switch c := unit(i); {
		case c > '\r' && c < 0x2028:
		case c == '\r' && i+1 < n && unit(i+1) == '\n':
		case c == '\n', c == '\r', c == 0x2028, c == 0x2029:
			if ends = append(ends, int32(i)); len(ends) == maxLines {
				return ends
			}
		}
	}
	return append(ends, int32(n))
}

// Function kinds (src/objects/function-kind.h).
const (
	functionKind  = 31
	kindAccessors = 7 // of objects and classes, up to kindArrow
	kindArrow     = 11
	kindMethods   = 14 // and generators
)

// mayBeAssigned reports whether functions of a kind can have the name of the property to which they are assigned.
func mayBeAssigned(kind uint64) bool {
	return kind < kindAccessors || kind >= kindArrow && kind < kindMethods
}

// assignment matches the text before the parameters of a function assigned to a property.
var assignment = regexp.MustCompile(
	`(?:^|[;{},\n]\s*)([\w$]+(?:\.[\w$]+|\['[^'\\]+'\])+)\s*=\s*(?:async\s+)?function\s*\*?\s*$`)

// assignedName is as FuncNameInferrer (src/parsing/func-name-inferrer.cc); V8's snapshot lacks the name.
func (r *functions) assignedName(f *function) string {
	const most = 160
	n := min(most, f.naming.begin)
	b, wide, _ := r.heap.characters(r.heap.field(f.scriptAt, r.heap.build.scriptSource), f.naming.begin-n, n)
	if wide {
		for i, c := range wideUnits(b) {
			b[i] = byte(c)
			if c > 0xff {
				b[i] = 0
			}
		}
		b = b[:len(b)/2]
	}
	m := assignment.FindSubmatch(b)
	if m == nil || len(b) < n || len(b) == most && bytes.HasPrefix(b, m[0]) {
		return anonymous
	}
	return strings.NewReplacer(".prototype.", ".", "['", ".", "']", "").Replace(string(m[1]))
}

// # Functions by bytecodes
//
// A closure can be collected before its frame is named. But each script lists its functions, and compiled ones refer
// to their bytecodes.

const maxListed = 1 << 14

func (r *functions) listFunctions() {
	left := maxListed
	for at, s := range r.scripts {
		if s.listedAt >= r.copiedAt && r.copiedAt != 0 {
			continue
		}
		if left <= 0 {
			break
		}
		s.listedAt = procmem.Now()
		left -= r.listScript(at, s)
	}
}

const listBatch = 32

func (r *functions) listScript(at uint64, s *script) int {
	if id, ok := smiValue(r.heap.field(at, r.heap.build.scriptID)); !ok || id != s.id {
		return 1
	}
	all := r.heap.array(r.heap.field(at, r.heap.build.scriptFunctions), 8, 1<<16)
	count := len(all) / 8
	var data [listBatch][8]byte
	for len(all) >= 8 {
		r.heap.parts = r.heap.parts[:0]
		var infos [listBatch]uint64
		for len(all) >= 8 && len(r.heap.parts) < listBatch {
			w := binary.LittleEndian.Uint64(all) &^ (weakHeapObjectTag ^ heapObjectTag)
			all = all[8:]
			if isObject(w) {
				i := len(r.heap.parts)
				infos[i] = w
				r.heap.parts = append(r.heap.parts, frames.Region{Addr: w - heapObjectTag + r.heap.build.sfiData,
					Bytes: data[i][:]})
			}
		}
		if !r.heap.readParts(r.heap.parts) {
			continue
		}
		for i := range r.heap.parts {
			w := binary.LittleEndian.Uint64(data[i][:])
			if !isObject(w) || r.byInfo[infos[i]] != nil && r.byInfo[infos[i]].data == w {
				continue
			}
			if b, _, _ := r.bytecodesOf(w); b != 0 && r.byBytecodes[b] == nil {
				r.functionOf(infos[i])
			}
		}
	}
	return count
}
