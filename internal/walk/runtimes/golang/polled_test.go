// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"
	"testing"

	"prywalk/internal/walk/managed"
)

// A pollDesc at 0x20000 of a goroutine at 0x30000.
func TestADescriptorIsProvenByTheWaiterOfItsPollDesc(t *testing.T) {
	const base, desc, g = 0x1000, 0x20000, 0x30000
	for name, c := range map[string]struct {
		wait       string
		fd, waiter uint64
		at         int // offset of the waiter
		onStack    uint64
		want       int
		ok         bool
	}{
		"reader until Go 1.20":          {"IO wait", 7, g, 24, desc, 7, true},
		"writer until 1.20, reader now": {"IO wait", 7, g, 32, desc, 7, true},
		"writer since Go 1.21":          {"IO wait", 7, g, 40, desc, 7, true},
		"another goroutine waits":       {"IO wait", 7, g + 8, 32, desc, 0, false},
		"no descriptor has this number": {"IO wait", 1 << 40, g, 32, desc, 0, false},
		"another wait":                  {"select", 7, g, 32, desc, 0, false},
		"an address that is not one":    {"IO wait", 7, g, 32, desc + 1, 0, false},
		"on its own stack":              {"IO wait", 7, g, 32, 0x1800, 0, false},
	} {
		memory := make([]byte, g)
		put := func(at, w uint64) { binary.LittleEndian.PutUint64(memory[at-base:], w) }
		put(desc+pollDescFD, c.fd)
		put(desc+uint64(c.at), c.waiter)
		put(0x1800+pollDescFD, c.fd)
		put(0x1800+uint64(c.at), c.waiter)
		r := hostileRuntime(t, memory)
		task := managed.TaskRecord{Wait: c.wait, Object: g, StackLo: 0x1800, StackHi: 0x2000}
		stack := make([]byte, 64)
		binary.LittleEndian.PutUint64(stack[40:], c.onStack)
		if fd, ok := r.Polled(&task, stack); fd != c.want || ok != c.ok {
			t.Errorf("%s: %d, %v", name, fd, ok)
		}
	}
}
