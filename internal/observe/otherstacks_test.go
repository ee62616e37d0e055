// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"prywalk/internal/observe/copysize"
)

func TestTheStackThatAThreadBeganOnIsCopiedAtFirst(t *testing.T) {
	const end = 0x7ffd00000000
	th := NewThread(1, 1, nil)
	if th.SetFirstStackEnd(0); th.hints.get().Others[0].At != 0 {
		t.Error("no stack is known")
	}
	th.SetFirstStackEnd(end)
	if p := th.hints.get().Others[0]; !p.FirstStack || p.At >= end || p.At+uint64(p.CopyBytes()) < end {
		t.Errorf("%+v is copied of a stack that ends at %#x", p, uint64(end))
	}
	at := th.hints.get().Others[0].At
	for sp, want := range map[uint64]bool{
		end - 8: true, at: true, at - 1<<20: true, end - copysize.Max: true,
		end - copysize.Max - 8: false, end + 8: false, 0x1000: false,
	} {
		if onFirstStack(at, sp) != want {
			t.Errorf("a stack pointer of %#x: on the first stack %t", sp, !want)
		}
	}
}
