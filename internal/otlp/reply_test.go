// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"math"
	"testing"

	"prywalk/internal/protobuf"
)

func FuzzReplies(f *testing.F) {
	f.Add([]byte{0x0a, 2, 0x08, 3}, []byte{0x0a, 2, 0x08, 3})
	var long, info protobuf.Message
	for range 5 { // the last counts
		long.Int(1, math.MaxInt32-1)
	}
	info.Bytes(1, long)
	f.Add([]byte{}, []byte(info))
	f.Fuzz(func(t *testing.T, reply, info []byte) {
		if n, _, err := Rejected(reply); err == nil && n < 0 {
			t.Errorf("%d rejected", n)
		}
		if d, ok := RetryDelay(info); d < 0 || d > 0 && !ok || retryDelay(info) < 0 {
			t.Errorf("again after %s, %v; %s", d, ok, retryDelay(info))
		}
	})
}
