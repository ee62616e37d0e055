package look

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
)

// TestAFutexSleepLikeTheLastOneHasItsKernelStack: by another operation, in another function, or where the peek that has
// noted it was not of one moment, it is read anew.
func TestAFutexSleepLikeTheLastOneHasItsKernelStack(t *testing.T) {
	tids, over := make(chan int), make(chan struct{})
	defer close(over)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends
		tids <- unix.Gettid()
		<-over
	}()
	th := NewThread(os.Getpid(), <-tids, procmem.NewBudget(16))
	defer th.Close()
	k, s, call := kernelStacks{wanted: true}, &Shot{}, procmem.SyscallInfo{Nr: -1}
	s.Regs.Arch = hostArch()
	for end := time.Now().Add(time.Minute); call.Nr != futexCall(hostArch()); time.Sleep(time.Millisecond) {
		var err error
		if call, err = th.files.Syscall(); err != nil || time.Now().After(end) {
			t.Fatalf("it does not sleep in futex: %+v, %v", call, err)
		}
	}
	fresh, err := th.files.KernelStack(make([]byte, mostKernelText))
	if errors.Is(err, refusal.Denied) {
		t.Skip("kernel stacks take CAP_SYS_ADMIN: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	read := func(what string, want []byte, proven bool) {
		t.Helper()
		s.KernelText = s.KernelText[:0]
		if k.read(th, s, &call); !bytes.Equal(s.KernelText, want) {
			t.Errorf("%s: %q, not %q", what, s.KernelText, want)
		}
		if proven {
			th.futex.proven()
		}
	}
	for range futexReads {
		read("read", fresh, false)
	}
	marked := []byte("[<0>] as_noted+0x1/0x2\n")
	th.futex.text = marked
	read("noted by a peek of two moments", fresh, true)
	th.futex.text = marked
	read("noted", marked, true)
	call.Args[1] ^= 1 << 20
	read("another operation", fresh, true)
	th.futex.text = marked
	read("that one again", marked, true)
	th.futex.in[0]++
	read("another function", fresh, false)
	if n := testing.AllocsPerRun(10, func() { k.read(th, s, &call) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
