// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
)

type liveMemory int

// Word implements [frames.Memory].
func (m liveMemory) Word(addr frames.Addr) (uint64, bool) {
	var b [8]byte
	n, err := procmem.ReadVM(int(m), addr, b[:])
	return binary.LittleEndian.Uint64(b[:]), err == nil && n == len(b)
}

// Cut implements [frames.Memory].
func (liveMemory) Cut(frames.Addr) bool { return false }

const pageSize = 4096

type codePages struct {
	tid   int
	pages map[uint64]*[pageSize]byte
	num   uint64
	last  *[pageSize]byte
}

func (c *codePages) instruction(pc uint64, buf *[maxInsn]byte) []byte {
	n := 0
	for n < len(buf) {
		p := c.page((pc + uint64(n)) / pageSize)
		if p == nil {
			break
		}
		n += copy(buf[n:], p[(pc+uint64(n))%pageSize:])
	}
	return buf[:n]
}

func (c *codePages) page(num uint64) *[pageSize]byte {
	if c.last != nil && c.num == num {
		return c.last
	}
	p, ok := c.pages[num]
	if !ok {
		p = new([pageSize]byte)
		if _, err := procmem.ReadVM(c.tid, num*pageSize, p[:]); err != nil {
			return nil
		}
		c.pages[num] = p
	}
	c.num, c.last = num, p
	return p
}

func (c *codePages) forget() {
	clear(c.pages)
	c.last = nil
}

const copySize = 64 << 10

const below = 256

func (o *run) stackCopy(sp, top uint64) *frames.Snapshot {
	from := sp - below
	n := min(copySize, max(top, sp+pageSize)-from)
	if cap(o.buf) < int(n) {
		o.buf = make([]byte, copySize)
	}
	got, err := procmem.ReadVM(o.pid, from, o.buf[:n])
	if err != nil {
		got = 0
	}
	o.snap = frames.Snapshot{Stack: frames.Region{Addr: from, Bytes: o.buf[:got]}, StackEnd: from + uint64(got)}
	return &o.snap
}
