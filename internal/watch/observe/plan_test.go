// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
)

func TestAWaitForTheRuntimesLockIsKnownByItsAddress(t *testing.T) {
	const lock, wait = 0x7000, 0
	th := NewThread(1, 1, nil)
	th.feedback.handedOver.init(CopyHints{})
	call := procmem.SyscallInfo{Nr: unix.SYS_FUTEX, Args: [6]uint64{lock + 8, wait}}
	if th.WaitsForRuntimeLock(&call) {
		t.Error("without a plan")
	}
	th.feedback.handedOver.init(CopyHints{readHints: readHints{Plan: &managed.Plan{}}})
	if th.WaitsForRuntimeLock(&call) {
		t.Error("where none is known")
	}
	plan := &managed.Plan{GlobalLock: [2]uint64{lock, lock + 48}}
	th.feedback.handedOver.init(CopyHints{readHints: readHints{Plan: plan}})
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
