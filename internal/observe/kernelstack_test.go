// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/process"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/testtargets"
)

func TestAFutexSleepLikeAnotherThreadsHasItsKernelStack(t *testing.T) {
	tids, over := make(chan int), make(chan struct{})
	defer close(over)
	var threads [2]*Thread
	call := procmem.SyscallInfo{Nr: -1}
	for i := range threads {
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends
			tids <- unix.Gettid()
			<-over
		}()
		threads[i] = NewThread(os.Getpid(), <-tids, procmem.NewFDBudget(16))
		defer threads[i].Close()
		testtargets.Eventually(t, "it sleeps in futex", func() bool {
			var err error
			if call, err = threads[i].files.Syscall(); err != nil {
				t.Fatal(err)
			}
			return call.Nr == unix.SYS_FUTEX
		})
	}
	if _, err := threads[0].files.KernelStack(make([]byte, maxKernelText)); errors.Is(err, refusal.Denied) {
		t.Skip("needs root to read kernel stacks: sudo make test")
	}
	if in, err := threads[0].files.WchanOnce(make([]byte, 64)); err != nil || len(in) == 0 {
		t.Skipf("needs /proc/PID/wchan: a kernel with CONFIG_KALLSYMS that shows it (%q, %v)", in, err)
	}
	k, s := kernelStacks{wanted: true}, &RawSample{}
	s.Regs.Arch = process.HostArch()
	k.read(threads[0], s, &call)
	fresh := bytes.Clone(s.KernelText)
	if k.kernelStackOf(threads[1], &call) != nil {
		t.Error("known without a proof")
	}
	k.confirm()
	if got := k.kernelStackOf(threads[1], &call); !bytes.Equal(got, fresh) {
		t.Errorf("%q, not %q", got, fresh)
	}
	k.stacks[0].text = []byte("[<0>] as_found+0x1/0x2\n")
	if k.read(threads[1], s, &call); !bytes.Equal(s.KernelText, k.stacks[0].text) {
		t.Errorf("read anew: %q", s.KernelText)
	}
	if n := testing.AllocsPerRun(10, func() { k.read(threads[1], s, &call) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	k.stacks[0].wchan[0]++
	if k.kernelStackOf(threads[1], &call) != nil {
		t.Error("known in another function")
	}
	k.stacks[0].wchan[0]--
	if call.Args[1] ^= 1 << 20; k.kernelStackOf(threads[1], &call) != nil {
		t.Error("known by another operation")
	}
}
