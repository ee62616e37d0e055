// SPDX-License-Identifier: Apache-2.0

package view

import (
	"testing"

	"prywalk/internal/account/attribute"
)

func TestShortLivedChildrenHaveTheirProgram(t *testing.T) {
	for name, want := range map[string]struct {
		program string
		ok      bool
	}{
		attribute.ChildrenOf("true"): {"true", true}, attribute.ChildrenThread: {"", true}, attribute.ExitedThread: {},
	} {
		if program, ok := programOfChildren(name); ok != want.ok || ok && program != want.program {
			t.Errorf("%q: %q, %t", name, program, ok)
		}
	}
}
