// SPDX-License-Identifier: Apache-2.0

package golang

import "encoding/binary"

const waitReasonBytes = 64

// secondWaitReason is text 1 of runtime.waitReasonStrings since Go 1.11; text 0 is empty.
const secondWaitReason = "GC assist marking"

// namesWaitReasons are functions that mention runtime.waitReasonStrings; the first does if it inlines the second.
var namesWaitReasons = []string{"runtime.goroutineheader", "runtime.waitReason.String"}

type waitReasons struct {
	list  uint64 // runtime.waitReasonStrings; 0: not found
	tried bool
	texts [waitReasonBytes]string // cached
}

func (w *waitReasons) text(r *program, n uint8) string {
	if !w.tried {
		w.tried, w.list = true, waitReasonStrings(r)
	}
	i := int(n) % waitReasonBytes
	if w.texts[i] == "" {
		w.texts[i] = r.stringAt(w.list, i)
	}
	return w.texts[i]
}

func waitReasonStrings(r *program) uint64 {
	if at, _, ok := r.host.Symbol(r.module, "runtime.waitReasonStrings"); ok {
		return at
	}
	for _, function := range namesWaitReasons {
		for _, at := range r.table.mentioned(function) {
			if r.stringAt(at+r.bias, 1) == secondWaitReason {
				return at + r.bias
			}
		}
	}
	return 0
}

func (p *program) stringAt(array uint64, n int) string {
	var s [16]byte
	if array == 0 || p.host.Read(array+16*uint64(n), s[:]) != len(s) {
		return ""
	}
	text := make([]byte, min(binary.LittleEndian.Uint64(s[8:]), waitReasonBytes))
	if p.host.Read(binary.LittleEndian.Uint64(s[:]), text) != len(text) {
		return ""
	}
	for _, c := range text {
		if c < ' ' || c > '~' {
			return ""
		}
	}
	return string(text)
}
