// SPDX-License-Identifier: Apache-2.0

package php

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

const (
	maxLoop  = 256 << 10 // of execute_ex, bytes
	minJumps = 16        // jumps to the part
)

// findCold finds execute_ex.cold, which has no symbol: the target of most conditional jumps out of execute_ex.
func (r *Runtime) findCold() {
	m, size := r.module, r.executeEx.End-r.executeEx.Start
	bounds, ok := m.Calls.(frames.FunctionBounds)
	if !ok || size > maxLoop {
		return
	}
	code := make([]byte, size)
	code = code[:r.host.Read(r.executeEx.Start, code)]
	jumps := map[managed.Span]int{}
	for i := 0; i+6 <= len(code); i++ {
		if code[i] != 0x0f || code[i+1]&0xf0 != 0x80 { // jcc rel32
			continue
		}
		to := r.executeEx.Start + uint64(i) + 6 + uint64(int64(int32(binary.LittleEndian.Uint32(code[i+2:]))))
		if r.executeEx.Has(to) || to < m.Start || to >= m.End {
			continue
		}
		if start, end, ok := bounds.FuncRange(to - m.Bias); ok {
			jumps[managed.Span{Start: start + m.Bias, End: end + m.Bias}]++
		}
	}
	most := minJumps
	for part, n := range jumps {
		if n > most {
			r.cold, most = part, n
		}
	}
}
