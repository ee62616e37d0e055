// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"bytes"
	"encoding/binary"
	"strings"

	"prywalk/internal/base/cache"
)

// Flags of a function (internal/abi, FuncFlag).
const (
	flagTopFrame = 1 << iota
	flagSPWrite
	flagAsm
)

type funcs struct {
	img  Image
	h    header
	text uint64
	// The table is an obfuscator's: functions without a name have that of their number.
	namesByID bool
}

// funcInfo is a function record (runtime2.go, _func).
type funcInfo struct {
	entry, end uint64
	nameOff    uint32
	pcsp       uint32
	pcfile     uint32
	pcln       uint32
	npcdata    uint32
	cuOff      uint32
	startLine  uint32 // 0 before Go 1.20
	id         uint8  // number of a function known to the runtime (internal/abi/symtab.go)
	flag       uint8
	nfuncdata  uint8
	tail       []byte // pcdata offsets, then funcdata offsets
}

// ftab returns entry i of the function table. Entry nfunc is the end of the text, without an offset.
func (t *funcs) ftab(i uint64) (pc, off uint64, ok bool) {
	if i*ftabEntry+4 > uint64(len(t.h.funcs)) {
		return 0, 0, false
	}
	b := t.h.funcs[i*ftabEntry:]
	if len(b) >= ftabEntry {
		off = uint64(binary.LittleEndian.Uint32(b[4:]))
	}
	return t.text + uint64(binary.LittleEndian.Uint32(b)), off, true
}

func (t *funcs) find(pc uint64) (funcInfo, bool) {
	lo, hi := uint64(0), t.h.nfunc // at or before pc
	for lo < hi {
		mid := (lo + hi) / 2
		if start, _, ok := t.ftab(mid); !ok || start > pc {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	if lo == 0 {
		return funcInfo{}, false
	}
	return t.function(lo-1, pc)
}

func (t *funcs) function(i, pc uint64) (funcInfo, bool) {
	start, off, ok := t.ftab(i)
	end, _, ok2 := t.ftab(i + 1)
	if !ok || !ok2 || pc < start || pc >= end || off >= uint64(len(t.h.funcs)) {
		return funcInfo{}, false
	}
	f := funcInfo{entry: start, end: end}
	return f, t.record(&f, uint32(off))
}

func (t *funcs) record(f *funcInfo, off uint32) bool {
	rec := t.h.funcs[off:]
	size := 10 * 4
	if t.h.magic == magic120 {
		size += 4 // startLine
	}
	if len(rec) < size {
		return false
	}
	u := func(i int) uint32 { return binary.LittleEndian.Uint32(rec[4*i:]) }
	f.nameOff, f.pcsp, f.pcfile, f.pcln, f.npcdata, f.cuOff = u(1), u(4), u(5), u(6), u(7), u(8)
	if t.h.magic == magic120 {
		f.startLine = u(9)
	}
	last := rec[size-4 : size]
	f.id, f.flag, f.nfuncdata = last[0], last[1], last[3]
	f.tail = rec[size:]
	return true
}

// FuncRange returns the starts of the function at pc and of the next; false in cgo code.
func (t *funcs) FuncRange(pc uint64) (start, end uint64, ok bool) {
	f, ok := t.find(pc)
	return f.entry, f.end, ok
}

// codeOf returns the function's instructions, or nil if they are unreadable, or more than maxFlowBytes.
func (t *funcs) codeOf(f *funcInfo) []byte {
	if f.end-f.entry > maxFlowBytes {
		return nil
	}
	code := make([]byte, f.end-f.entry)
	if !t.img.read(f.entry, code) {
		return nil
	}
	return code
}

const maxName = 1 << 14 // bytes

func cstring(b []byte, off uint64) []byte {
	if off >= uint64(len(b)) {
		return nil
	}
	b = b[off:]
	n := bytes.IndexByte(b[:min(len(b), maxName)], 0)
	if n < 0 {
		return nil
	}
	return b[:n]
}

// name returns the function's name. Where an obfuscator has removed names (garble -tiny), functions that the runtime
// knows by number have theirs.
func (t *funcs) name(f *funcInfo) []byte {
	name := cstring(t.h.names, uint64(f.nameOff))
	if t.namesByID && int(f.id) < len(namesByID) && namesByID[f.id] != "" &&
		(len(name) == 0 || bytes.HasSuffix(name, []byte(".?"))) {
		return []byte(namesByID[f.id])
	}
	return name
}

// knowsIDs reports whether functions are numbered as in namesByID: the only ones with goexit's number are outermost.
func (t *funcs) knowsIDs() (known bool) {
	for i := range t.h.nfunc {
		var f funcInfo
		_, off, ok := t.ftab(i)
		if !ok || off >= uint64(len(t.h.funcs)) || !t.record(&f, uint32(off)) || f.id != idGoexit {
			continue
		}
		if known = f.flag&flagTopFrame != 0; !known {
			break
		}
	}
	return known
}

const idGoexit = 8

// namesByID are those of the numbers in Go 1.25 to 1.27 (internal/abi/symtab.go).
var namesByID = [...]string{
	2: "runtime.asmcgocall", 3: "runtime.asyncPreempt", 4: "runtime.cgocallback", 5: "runtime.corostart",
	6: "runtime.debugCallV2", 7: "runtime.gcBgMarkWorker", idGoexit: "runtime.goexit", 9: "gogo", 10: "runtime.gopanic",
	11: "runtime.handleAsyncEvent", 12: "runtime.mcall", 13: "runtime.morestack", 14: "runtime.mstart",
	16: "runtime.rt0_go", 17: "runtime.main", 18: "runtime.runFinalizers", 19: "runtime.runCleanups",
	20: "runtime.sigpanic", 21: "runtime.systemstack", 22: "runtime.systemstack_switch",
}

type startFunc struct {
	name   string
	system bool
	idle   string // of callsUserCode
	ok     bool   // the address is a function's entry
}

const maxStartFuncs = 1 << 14

type startFuncs struct {
	program *program
	byStart map[uint64]startFunc
	names   map[string]uint64 // 0 means none
}

// A thread of C has no startpc.
const cgoStart = "runtime.cgocallback"

func (s *startFuncs) at(start uint64) startFunc {
	if start == 0 {
		return startFunc{name: cgoStart, ok: true}
	}
	found, known := s.byStart[start]
	if known {
		return found
	}
	if t, bias := s.program.tableAt(start); t != nil {
		if f, ok := t.find(start - bias); ok {
			name := string(t.name(&f))
			found = startFunc{name, isSystemStart(name), callsUserCode[name], f.entry == start-bias}
		}
	}
	cache.Put(&s.byStart, maxStartFuncs, start, found)
	return found
}

func (s *startFuncs) named(name string) (addr uint64, ok bool) {
	addr, known := s.names[name]
	if !known {
		if all := s.program.table.funcByName(name); len(all) == 1 {
			addr = all[0] + s.program.bias
		}
		if s.names == nil {
			s.names = map[string]uint64{}
		}
		s.names[name] = addr
	}
	return addr, addr != 0
}

// isSystemStart reports whether goroutines with this first function are the runtime's own (isSystemGoroutine in
// runtime/traceback.go). Coroutines of iter.Pull start in corostart.
func isSystemStart(name string) bool {
	switch name {
	case "runtime.main", "runtime.handleAsyncEvent", "runtime.corostart":
		return false
	}
	return strings.HasPrefix(name, "runtime.")
}

// callsUserCode has the runtime's goroutines that call finalizers and cleanups, and the reason for which they wait for
// work. One that waits for another is in user code.
var callsUserCode = map[string]string{"runtime.runfinq": "finalizer wait", "runtime.runFinalizers": "finalizer wait",
	"runtime.runCleanups": "cleanup wait"}

// ownWaits has the reasons for which only the runtime's own goroutines wait (waitReasonStrings, runtime/runtime2.go):
// functions can lack their names (garble -tiny).
var ownWaits = map[string]bool{"force gc (idle)": true, "GC scavenge wait": true, "GC sweep wait": true,
	"GC worker (idle)": true, "GC worker (active)": true, "GOMAXPROCS updater (idle)": true}
