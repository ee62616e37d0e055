// SPDX-License-Identifier: Apache-2.0

package bounded

import (
	"fmt"
	"time"
)

const patience = 4 * time.Minute

// TB is what [Receive] needs of testing.TB.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// Receive returns what comes from a channel, or the zero value once it is closed. After four minutes the test fails,
// and says what it waited for.
func Receive[T any](tb TB, what string, from <-chan T) T {
	tb.Helper()
	v, came := Received(from)
	if !came {
		tb.Fatal(fmt.Errorf("not within %v: %s", patience, what))
	}
	return v
}

// Received waits like [Receive], and reports whether something came or the channel is closed: for goroutines other than
// the test's, which must not end it.
func Received[T any](from <-chan T) (v T, came bool) {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case v = <-from:
		return v, true
	case <-late.C:
		return v, false
	}
}
