// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strconv"
	"testing"
)

func TestTheNumberOfANameEndsAtAnyCharacter(t *testing.T) {
	for _, want := range []struct {
		before string
		number int
		after  string
	}{{"worker-", 12, ""}, {"é", 7, ""}, {"é", 7, "é"}, {"Wörter", -1, ""}, {"", 7, ""}, {"a07", -1, ""}, {"a", 1, "-b"}} {
		name := want.before
		if want.number >= 0 {
			name += strconv.Itoa(want.number) + want.after
		}
		if before, n, after := splitNumber(name); before != want.before || n != want.number || after != want.after {
			t.Errorf("%q: %q %d %q", name, before, n, after)
		}
	}
}
