// SPDX-License-Identifier: Apache-2.0

package deepstack

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/ptrace"
)

type stopCopy struct {
	frames.Snapshot
	rd  *ptrace.Reader
	out []frames.Region // Others with room for more
}

func (s *stopCopy) topEnd() frames.Addr { return s.Stack.Addr + uint64(len(s.Stack.Bytes)) }

func (s *stopCopy) hasRoom() bool { return len(s.Others) < len(s.out) }

// Precondition: there is room.
func (s *stopCopy) add(r frames.Region) {
	n := len(s.Others)
	s.out[n], s.Others = r, s.out[:n+1]
}

func (s *stopCopy) drop(n int) { s.Others = s.out[:n] }

// returnAddressAt returns the return address at a frame's outer end, if copied with the saved registers.
func (s *stopCopy) returnAddressAt(end frames.Addr) (pc frames.Addr, ok bool) {
	from := end - savedBelow
	if top := &s.Stack; from-top.Addr < uint64(len(top.Bytes)) {
		return returnAddressIn(top, from)
	}
	for i := range s.Others {
		pc, ok = returnAddressIn(&s.Others[i], from)
		if ok {
			return pc, true
		}
	}
	for ok = true; ok && from < end; from += 8 { // in adjacent regions
		pc, ok = s.Word(from)
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

func (s *stopCopy) beyondLast(from, to frames.Addr) frames.Addr {
	last := &s.Stack
	if n := len(s.Others); n > 0 && s.Others[n-1].Addr > last.Addr {
		last = &s.Others[n-1]
	}
	if ends := last.Addr + uint64(len(last.Bytes)); last.Addr <= from && ends > from && ends < to {
		return ends &^ 7
	}
	return from
}
