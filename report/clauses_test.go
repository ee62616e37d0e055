// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"testing"
)

func TestAnAccountIsDividedOutsideOfBrackets(t *testing.T) {
	got := accountLines("prywalk: one (a; b), two; three | four")
	if want := []string{"one (a; b), two", "three", "four"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
