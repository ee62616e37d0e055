// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"encoding/binary"

	"prywalk/internal/walk/managed"
)

type rubyVM struct {
	heap       heap
	host       managed.Host
	cObjectAt  uint64 // the variable rb_cObject
	addr       uint64
	ractorNode int64
	threads    threads
}

type hostMemory struct{ managed.Host }

// Word implements memory.
func (h hostMemory) Word(addr uint64) (uint64, bool) {
	return managed.ReadWord(h, addr)
}

func (m *rubyVM) listHead(vm uint64) uint64 {
	if m.heap.hasRactors() {
		return m.heap.word(vm + uint64(m.heap.vmRactors))
	}
	return m.heap.word(vm + uint64(m.heap.vmThreads))
}

const scanDistance = 256 << 10 // bytes

func (m *rubyVM) find() bool {
	seen := map[uint64]bool{}
	found := false
	m.scan(func(_ uint64, b []byte) bool {
		vm := binary.LittleEndian.Uint64(b)
		if !isPointer(vm) || seen[vm] {
			return false
		}
		seen[vm] = true
		found = m.verify(vm)
		return found
	})
	return found
}

// scan calls take for words near rb_cObject until it returns true; b has 32 bytes.
func (m *rubyVM) scan(take func(at uint64, b []byte) bool) {
	const piece, overlap = 4 << 10, 32
	b := make([]byte, piece+overlap)
	for at := (m.cObjectAt - scanDistance) &^ (piece - 1); at < m.cObjectAt+scanDistance; at += piece {
		n := m.host.Read(at, b)
		for i := 0; i < piece && i+overlap <= n; i += 8 {
			if take(at+uint64(i), b[i:i+overlap]) {
				return
			}
		}
	}
}

func isPointer(v uint64) bool { return v >= 1<<12 && v < 1<<47 && v&7 == 0 }

func (m *rubyVM) verify(vm uint64) bool {
	next := m.listHead(vm)
	if !isPointer(next) {
		return false
	}
	nodes := m.heap.ractorNodes
	if !m.heap.hasRactors() {
		nodes = []int64{0}
	}
	for _, node := range nodes {
		th := next
		if m.heap.hasRactors() {
			th = m.heap.word(next - uint64(node) + uint64(m.heap.ractorThreads))
		}
		if isPointer(th) && m.heap.word(th+uint64(m.heap.threadVM)) == vm && m.verifyThread(th) {
			m.addr, m.ractorNode = vm, node
			return true
		}
	}
	return false
}

func (m *rubyVM) verifyThread(th uint64) bool {
	ec := m.heap.word(th + uint64(m.heap.threadEC))
	if !isPointer(ec) || m.heap.word(ec+uint64(m.heap.ecThread)) != th {
		return false
	}
	stack, size, cfp := m.heap.word(ec+ecStack), m.heap.word(ec+ecSize), m.heap.word(ec+ecFrame)
	end := stack + size*8
	return isPointer(stack) && size < maxStack && cfp >= stack && cfp < end && (end-cfp)%uint64(m.heap.frameSize) == 0 &&
		isMagic(m.heap.word(m.heap.word(end-uint64(m.heap.frameSize)+frameEP)))
}

const maxStack = 1 << 27 // words

func (m *rubyVM) findSymbols() (table uint64) {
	m.scan(func(at uint64, b []byte) bool {
		last := binary.LittleEndian.Uint64(b) & (1<<32 - 1)
		if last < minSymbols || last > maxSymbols || !isPointer(binary.LittleEndian.Uint64(b[symbolIDs:])) ||
			!m.heap.isSymbols(at) {
			return false
		}
		table = at
		return true
	})
	return table
}
