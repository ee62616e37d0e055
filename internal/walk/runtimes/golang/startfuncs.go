// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"strings"

	"prywalk/internal/walk/managed"
)

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
	names   map[string]uint64 // 0: none
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
	managed.Remember(&s.byStart, maxStartFuncs, start, found)
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
