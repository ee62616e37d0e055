// SPDX-License-Identifier: Apache-2.0

package golang

import "strings"

// entry is a goroutine's first function.
type entry struct {
	name   string
	system bool
	ok     bool
}

const maxEntries = 1 << 14

type entries struct {
	program *program
	byStart map[uint64]entry
	names   map[string]uint64 // addresses, or 0
}

// cgoEntry stands for the first function for a thread of C, which has no startpc.
const cgoEntry = "runtime.cgocallback"

func (e *entries) at(start uint64) entry {
	if start == 0 {
		return entry{name: cgoEntry, ok: true}
	}
	found, known := e.byStart[start]
	if known {
		return found
	}
	if e.byStart == nil || len(e.byStart) >= maxEntries {
		e.byStart = map[uint64]entry{}
	}
	if t, bias := e.program.tableAt(start); t != nil {
		if f, ok := t.find(start - bias); ok {
			name := string(t.name(&f))
			found = entry{name, ownEntry(name), f.entry == start-bias}
		}
	}
	e.byStart[start] = found
	return found
}

func (e *entries) named(name string) (addr uint64, ok bool) {
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

// ownEntry reports whether the run-time system itself starts goroutines there (runtime/traceback.go,
// isSystemGoroutine).
func ownEntry(name string) bool {
	return strings.HasPrefix(name, "runtime.") && name != "runtime.main" && name != "runtime.handleAsyncEvent"
}
