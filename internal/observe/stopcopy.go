// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/ptrace"
)

// stopCopy is what a stop has copied so far: the top of the stack, and regions.
type stopCopy struct {
	frames.Snapshot
	rd  *ptrace.Reader
	out []frames.Region // Others with room for more
}

func (c *stopCopy) topEnd() frames.Addr { return c.Stack.Addr + uint64(len(c.Stack.Bytes)) }

func (c *stopCopy) hasRoom() bool { return len(c.Others) < len(c.out) }

// add adds a region. Precondition: there is room.
func (c *stopCopy) add(r frames.Region) {
	n := len(c.Others)
	c.out[n], c.Others = r, c.out[:n+1]
}

// drop keeps only the first n regions.
func (c *stopCopy) drop(n int) { c.Others = c.out[:n] }

// returnAddressAt returns the return address at a frame's outer end, if copied with the saved registers.
func (c *stopCopy) returnAddressAt(end frames.Addr) (pc frames.Addr, ok bool) {
	from := end - savedBelow
	if s := &c.Stack; from-s.Addr < uint64(len(s.Bytes)) {
		return returnAddressIn(s, from)
	}
	for i := range c.Others {
		pc, ok = returnAddressIn(&c.Others[i], from)
		if ok {
			return pc, true
		}
	}
	for ok = true; ok && from < end; from += 8 { // in adjacent regions
		pc, ok = c.Word(from)
	}
	return pc, ok
}

func returnAddressIn(r *frames.Region, from frames.Addr) (pc frames.Addr, ok bool) {
	n, at := uint64(len(r.Bytes)), from-r.Addr
	if at >= n || n-at < savedBelow {
		return 0, false
	}
	return binary.LittleEndian.Uint64(r.Bytes[at+savedBelow-8:]), true
}

// beyondLast returns the beginning of a range without what the last copy has of it.
func (c *stopCopy) beyondLast(from, to frames.Addr) frames.Addr {
	last := &c.Stack
	if n := len(c.Others); n > 0 && c.Others[n-1].Addr > last.Addr {
		last = &c.Others[n-1]
	}
	if ends := last.Addr + uint64(len(last.Bytes)); last.Addr <= from && ends > from && ends < to {
		return ends &^ 7
	}
	return from
}
