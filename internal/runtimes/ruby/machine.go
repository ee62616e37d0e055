// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"encoding/binary"

	"prywalk/internal/managed"
)

// machine is a process's virtual machine.
type machine struct {
	heap
	host       managed.Host
	object     uint64 // the variable rb_cObject
	vm         uint64
	ractorNode int64
	threads    threads
	queue      queueNodes
}

type hosted struct{ managed.Host }

// Word implements memory.
func (h hosted) Word(addr uint64) (uint64, bool) {
	var b [8]byte
	ok := h.Read(addr, b[:]) == len(b)
	return binary.LittleEndian.Uint64(b[:]), ok
}

func (v *machine) listHead(vm uint64) uint64 {
	if v.vmThreads != 0 {
		return v.at(vm + uint64(v.vmThreads))
	}
	return v.at(vm + uint64(v.vmRactors))
}

// scanned bounds the distance of variables, in bytes.
const scanned = 256 << 10

// find searches for the virtual machine, whose symbol is hidden.
func (v *machine) find() bool {
	seen := map[uint64]bool{}
	found := false
	v.scan(func(_ uint64, b []byte) bool {
		vm := binary.LittleEndian.Uint64(b)
		if !isPointer(vm) || seen[vm] {
			return false
		}
		seen[vm] = true
		found = v.prove(vm)
		return found
	})
	return found
}

// scan calls take along the variables until it returns true.
func (v *machine) scan(take func(at uint64, b []byte) bool) {
	const piece, overlap = 4 << 10, 32
	b := make([]byte, piece+overlap)
	for at := (v.object - scanned) &^ (piece - 1); at < v.object+scanned; at += piece {
		n := v.host.Read(at, b)
		for i := 0; i < piece && i+overlap <= n; i += 8 {
			if take(at+uint64(i), b[i:i+overlap]) {
				return
			}
		}
	}
}

func isPointer(v uint64) bool { return v >= 1<<12 && v < 1<<47 && v&7 == 0 }

// prove verifies that threads and contexts link back, and have frames.
func (v *machine) prove(vm uint64) bool {
	next := v.listHead(vm)
	if !isPointer(next) {
		return false
	}
	nodes := v.ractorNodes
	if v.vmThreads != 0 {
		nodes = []int64{0}
	}
	for _, node := range nodes {
		th := next
		if v.vmThreads == 0 {
			th = v.at(next - uint64(node) + uint64(v.ractorThreads))
		}
		if isPointer(th) && v.at(th+uint64(v.threadVM)) == vm && v.proveThread(th) {
			v.vm, v.ractorNode = vm, node
			return true
		}
	}
	return false
}

func (v *machine) proveThread(th uint64) bool {
	ec := v.at(th + uint64(v.threadEC))
	if !isPointer(ec) || v.at(ec+uint64(v.ecThread)) != th {
		return false
	}
	stack, size, cfp := v.at(ec+ecStack), v.at(ec+ecSize), v.at(ec+ecFrame)
	end := stack + size*8
	return isPointer(stack) && size < mostStack && cfp >= stack && cfp < end && (end-cfp)%uint64(v.frameSize) == 0 &&
		isMagic(v.at(v.at(end-uint64(v.frameSize)+frameEnv)))
}

// mostStack bounds a VM stack, in words.
const mostStack = 1 << 27

// findSymbols gives the symbol table; 0: none.
func (v *machine) findSymbols() (table uint64) {
	v.scan(func(at uint64, b []byte) bool {
		last := binary.LittleEndian.Uint64(b) & (1<<32 - 1)
		if last < fewSymbols || last > mostSymbols || !isPointer(binary.LittleEndian.Uint64(b[symbolIDs:])) ||
			!v.isSymbols(at) {
			return false
		}
		table = at
		return true
	})
	return table
}
