// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"
	"slices"
	"testing"

	"prywalk/frames"
)

const lockers = `package main

import "sync"

var mu sync.Mutex

//go:noinline
func named() { mu.Lock(); between(); mu.Unlock(); between() }

//go:noinline
func loaded(m *sync.Mutex) { m.Lock(); between(); m.Unlock(); between() }

//go:noinline
func asLocker(l sync.Locker) { l.Lock(); between(); l.Unlock(); between() }

//go:noinline
func between() {}

func main() { named(); loaded(&mu); asLocker(&mu) }
`

// The lock that a frame's call takes is held only if the task is known to wait for another one. Of the process's memory
// the test has no stack.
func TestALockThatIsBeingTakenIsNotHeld(t *testing.T) {
	tab, elf := open(t, build(t, lockers, []string{"GOARCH=amd64", "CGO_ENABLED=0"}))
	symbols, _ := elf.Symbols()
	address := map[string]uint64{}
	for _, s := range symbols {
		address[s.Name] = s.Value
	}
	const object, sp = 0x11000, 0x7000000
	memory := make([]byte, object+0x100-0x1000)
	binary.LittleEndian.PutUint64(memory[object+itabLock-0x1000:], address["sync.(*Mutex).Lock"])
	binary.LittleEndian.PutUint64(memory[object+itabUnlock-0x1000:], address["sync.(*Mutex).Unlock"])
	stack := make([]byte, 0x400)
	for at := 0; at < len(stack); at += 8 {
		binary.LittleEndian.PutUint64(stack[at:], object)
	}
	copied := &frames.Snapshot{Stack: frames.Region{Addr: sp, Bytes: stack}}
	r := newRuntime(program{table: tab, host: &memoryHost{memory: memory}}, GOffsets{})
	for _, c := range []struct {
		function, take string
		lock           uint64
	}{
		{"main.named", "internal/sync.(*Mutex).lockSlow", address["main.mu"]},
		{"main.loaded", "internal/sync.(*Mutex).lockSlow", object},
		{"main.asLocker", "", object},
	} {
		f, _ := tab.find(address[c.function])
		var held [][]uint64
		walkX86(f.entry, tab.codeOf(&f), func(in *insn, next uint64) bool {
			callee := ""
			if in.Op == opCall {
				callee = tab.functionAt(next + uint64(in.Imm))
			}
			if !in.isCall() || callee != "main.between" && callee != c.take {
				return true
			}
			for _, awaited := range []uint64{0, c.lock} {
				var locks []uint64
				for _, h := range r.HeldLocks(next, sp, awaited, copied) {
					locks = append(locks, h.Address)
				}
				held = append(held, locks)
			}
			return true
		})
		want := [][]uint64{nil, {c.lock}, {c.lock}, {c.lock}, nil, nil} // while it is taken, then held, then released
		if c.take == "" {                                               // Unlock, too, is called by its interface
			want = slices.Insert(want, 4, nil, nil)
		} else if len(held) == 6 && held[0] != nil { // lockSlow is behind
			held = append(held[4:], held[:4]...)
		}
		if !slices.EqualFunc(held, want, slices.Equal) {
			t.Errorf("%s: after its calls are held %#x, want %#x", c.function, held, want)
		}
	}
}
