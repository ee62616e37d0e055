// SPDX-License-Identifier: Apache-2.0

package samestack

import (
	"encoding/binary"
	"slices"

	"prywalk/frames"
	"prywalk/internal/procmem"
)

// Words are what the walk of one sleeper's stack depends on. They do not change.
type Words struct {
	sp, pc    frames.Addr
	arguments bool // the registers with the call's arguments, too
	args      [6]uint64
	words     []word
}

// word is one of the stack, by its address.
type word struct {
	at    frames.Addr
	value uint64
}

// Hold reports whether a thread that sleeps in a call has the stack that was walked. stack is a copy of it.
func (w *Words) Hold(call *procmem.SyscallInfo, stack *frames.Region) bool {
	if call.SP != w.sp || call.PC != w.pc || w.arguments && call.Args != w.args {
		return false
	}
	b := stack.Bytes
	for i := range w.words {
		off := w.words[i].at - stack.Addr
		if n := uint64(len(b)); n < 8 || off > n-8 || binary.LittleEndian.Uint64(b[off:]) != w.words[i].value {
			return false
		}
	}
	return true
}

// Len gives how many words there are.
func (w *Words) Len() int { return len(w.words) }

// same reports whether these are the words of another walk, too.
func (w *Words) same(o *Words) bool {
	return w.sp == o.sp && w.pc == o.pc && w.arguments == o.arguments && w.args == o.args &&
		slices.Equal(w.words, o.words)
}
