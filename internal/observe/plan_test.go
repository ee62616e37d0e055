// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

func TestWhoWaitsForTheLockOfItsRunTimeSystemIsInIt(t *testing.T) {
	const lock, wait = 0x7000, 0
	th := &Thread{}
	th.hints.init(CopyHints{})
	call := procmem.SyscallInfo{Nr: futexCall(hostArch()), Args: [6]uint64{lock + 8, wait}}
	if th.WaitsForRuntimeLock(&call) {
		t.Error("without a plan")
	}
	th.hints.init(CopyHints{readHints: readHints{Plan: &managed.Plan{}}})
	if th.WaitsForRuntimeLock(&call) {
		t.Error("where none is known")
	}
	th.hints.init(CopyHints{readHints: readHints{Plan: &managed.Plan{GlobalLock: [2]uint64{lock, lock + 48}}}})
	if !th.WaitsForRuntimeLock(&call) {
		t.Error("not there")
	}
	for name, other := range map[string]procmem.SyscallInfo{
		"another word": {Nr: call.Nr, Args: [6]uint64{lock + 48, wait}},
		"another call": {Nr: call.Nr + 1, Args: call.Args},
		"who wakes":    {Nr: call.Nr, Args: [6]uint64{lock + 8, 1}},
	} {
		if th.WaitsForRuntimeLock(&other) {
			t.Error(name)
		}
	}
}
