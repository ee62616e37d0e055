// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"bytes"
	"iter"
	"strconv"
)

const maxCount = 1 << 32

// folded yields lines "OUTERMOST;…;INNERMOST COUNT"; others are skipped.
func folded(text []byte) iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for line := range bytes.Lines(text) {
			line = bytes.TrimSpace(line)
			at := bytes.LastIndexByte(line, ' ')
			if at <= 0 {
				continue
			}
			n, err := strconv.ParseInt(string(line[at+1:]), 10, 64)
			if err == nil && n > 0 && n <= maxCount && !yield(string(line[:at]), n) {
				return
			}
		}
	}
}
