// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"prywalk/internal/watch/observe/copying"
)

func TestTheFirstSampleCopiesWhatWasLearnedOfTheProgram(t *testing.T) {
	for _, c := range []struct{ learned, want int64 }{
		{0, copying.First}, {4 << 10, copying.First}, {2 << 20, 2 << 20}, {1 << 40, copying.MaxUsual},
	} {
		th := NewThread(1, 1, nil)
		if th.SetFirstCopy(c.learned); int64(th.hints.Bytes) != c.want {
			t.Errorf("%d bytes were used: %d are copied, want %d", c.learned, th.hints.Bytes, c.want)
		}
	}
}
