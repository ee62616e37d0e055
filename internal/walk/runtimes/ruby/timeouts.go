// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"encoding/binary"
	"slices"
	"strings"

	"prywalk/frames"
	"prywalk/internal/base/cache"
	"prywalk/internal/walk/managed"
)

// # Timeout.timeout
//
// Timeout.timeout (lib/timeout.rb) raises an exception in a thread whose block takes too long, also while it waits for
// a lock. With a limit it calls that block from a block of its own, "block in timeout".

const (
	timeoutFile      = "/timeout.rb"
	timeoutMethod    = "timeout"
	maxTimeoutFrames = 1 << 12
	maxTimeouts      = 1 << 16 // iseqs
)

type timeoutBlock struct {
	body      uint64
	isTimeout bool
}

// inTimeout searches the frames for a block of Timeout.timeout with a limit.
func (b *blockedWait) inTimeout() bool {
	iseqs := b.iseqs()
	b.reader.later = true
	for i, body := range b.reader.vm.bodies(iseqs) {
		if b.isTimeoutBlock(iseqs[i], body) {
			return true
		}
	}
	return false
}

func (b *blockedWait) iseqs() (list []uint64) {
	ec := b.reader.word(b.thread + uint64(b.reader.vm.heap.threadEC))
	stack, size, at := b.reader.word(ec+ecStack), b.reader.word(ec+ecSize), b.reader.word(ec+ecFrame)
	end, step := stack+size*8, uint64(b.reader.vm.heap.frameSize)
	if size >= maxStack || at < stack || at > end || (end-at)%step != 0 {
		return nil
	}
	words := make([]byte, min((end-at)/step, maxTimeoutFrames)*step)
	words = words[:b.reader.vm.host.Read(at, words)]
	for ; uint64(len(words)) >= step; words = words[step:] {
		if iseq := binary.LittleEndian.Uint64(words[frameISeq:]); isPointer(iseq) {
			list = append(list, iseq)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (m *rubyVM) bodies(iseqs []uint64) []uint64 {
	words, parts := make([]byte, 8*len(iseqs)), make([]frames.Region, len(iseqs))
	for i, iseq := range iseqs {
		parts[i] = frames.Region{Addr: iseq + iseqBody, Bytes: words[8*i : 8*i+8]}
	}
	managed.ReadRegions(m.host, m.host, parts, func(p *frames.Region) { clear(p.Bytes) })
	bodies := make([]uint64, len(iseqs))
	for i := range bodies {
		bodies[i] = binary.LittleEndian.Uint64(words[8*i:])
	}
	return bodies
}

func (b *blockedWait) isTimeoutBlock(iseq, body uint64) bool {
	block, known := b.runtime.names.timeouts[iseq]
	if known && block.body == body || !isPointer(body) {
		return block.isTimeout
	}
	block = timeoutBlock{body: body, isTimeout: b.reader.vm.isTimeoutBlock(body)}
	cache.Put(&b.runtime.names.timeouts, maxTimeouts, iseq, block)
	return block.isTimeout
}

func (m *rubyVM) isTimeoutBlock(body uint64) bool {
	if m.heap.word(body)&(1<<32-1) != iseqBlock {
		return false
	}
	if method, ok := m.heap.text(m.heap.word(body + bodyBase)); !ok || method != timeoutMethod {
		return false
	}
	file, ok := m.heap.path(m.heap.word(body + bodyPath))
	return ok && strings.HasSuffix(file, timeoutFile)
}
