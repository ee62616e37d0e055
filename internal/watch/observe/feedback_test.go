// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"
)

func TestTheFirstSampleCopiesWhatWasLearnedOfTheProgram(t *testing.T) {
	for _, c := range []struct{ learned, want int64 }{
		{0, firstCopy}, {4 << 10, firstCopy}, {2 << 20, 2 << 20}, {1 << 40, maxUsualStack},
	} {
		th := NewThread(1, 1, nil)
		if th.SetFirstCopy(c.learned); int64(th.hints.stack.size.bytes) != c.want {
			t.Errorf("%d bytes were used: %d are copied, want %d", c.learned, th.hints.stack.size.bytes, c.want)
		}
	}
}
