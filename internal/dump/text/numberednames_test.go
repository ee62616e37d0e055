// SPDX-License-Identifier: Apache-2.0

package text

import "testing"

func TestTheNumberOfANameEndsAtAnyCharacter(t *testing.T) {
	for name, want := range map[string]int{"worker-12": 12, "é7": 7, "Wörter": -1, "7": 7, "a07": -1} {
		if _, got, _ := splitNumber(name); got != want {
			t.Errorf("%q: %d, want %d", name, got, want)
		}
	}
}
