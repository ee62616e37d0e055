// SPDX-License-Identifier: Apache-2.0

package golang

import "strings"

// startFunc is a goroutine's first function.
type startFunc struct {
	name   string
	system bool
	ok     bool
}

const maxStartFuncs = 1 << 14

type startFuncs struct {
	program *program
	byStart map[uint64]startFunc
	names   map[string]uint64 // addresses, or 0
}

// cgoStart stands for the first function for a thread of C, which has no startpc.
const cgoStart = "runtime.cgocallback"

func (e *startFuncs) at(start uint64) startFunc {
	if start == 0 {
		return startFunc{name: cgoStart, ok: true}
	}
	found, known := e.byStart[start]
	if known {
		return found
	}
	if e.byStart == nil || len(e.byStart) >= maxStartFuncs {
		e.byStart = map[uint64]startFunc{}
	}
	if t, bias := e.program.tableAt(start); t != nil {
		if f, ok := t.find(start - bias); ok {
			name := string(t.name(&f))
			found = startFunc{name, isSystemStart(name), f.entry == start-bias}
		}
	}
	e.byStart[start] = found
	return found
}

func (e *startFuncs) named(name string) (addr uint64, ok bool) {
	addr, known := e.names[name]
	if !known {
		if all := e.program.table.FuncByName(name); len(all) == 1 {
			addr = all[0] + e.program.bias
		}
		if e.names == nil {
			e.names = map[string]uint64{}
		}
		e.names[name] = addr
	}
	return addr, addr != 0
}

// isSystemStart reports whether the runtime itself starts goroutines there (runtime/traceback.go,
// isSystemGoroutine).
func isSystemStart(name string) bool {
	return strings.HasPrefix(name, "runtime.") && name != "runtime.main" && name != "runtime.handleAsyncEvent"
}
