// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
)

const busy = `package main

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

//go:noinline
func deep(n int) int {
	var a [40]int
	if n > 0 {
		a[n%40] = deep(n - 1)
	}
	return a[(n+1)%40] + n
}

var sink []byte

func main() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	for i := 0; i < 2; i++ {
		go func() {
			for {
				done := make(chan int)
				go func() { done <- deep(300) }()
				<-done
			}
		}()
	}
	go func() {
		for {
			sink = make([]byte, 1<<16)
			_ = time.Now()
		}
	}()
	go func() {
		for {
			runtime.GC()
			syscall.Kill(os.Getpid(), syscall.SIGUSR1)
			<-c
		}
	}()
	select {}
}
`

type procMem struct{ f *os.File }

func (m procMem) Word(a uint64) (uint64, bool) {
	var b [8]byte
	if n, _ := m.f.ReadAt(b[:], int64(a)); n != 8 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[:]), true
}

func (procMem) Cut(uint64) bool { return false }

type live struct {
	tab   *Table
	space *frames.Space
	mem   procMem
	pid   int
}

// start locks the goroutine to its thread, which alone may trace.
func start(t *testing.T, path string, more ...frames.RuleSource) live {
	t.Helper()
	tab, f := open(t, path)
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	await(t, "the program has computed for a while", func() bool {
		cpu, err := procmem.ProcessCPU(cmd.Process.Pid)
		return err == nil && cpu > uint64(200*time.Millisecond)
	})
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mem.Close() })
	text := f.Section(".text")
	space := frames.NewSpace(frames.X86_64)
	space.SetModules([]*frames.Module{{Start: text.Addr, End: text.Addr + text.Size,
		Sources: append([]frames.RuleSource{tab}, more...)}})
	return live{tab, space, procMem{mem}, cmd.Process.Pid}
}

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	testtargets.Eventually(t, what, holds)
}

func (l *live) threads() (tids []int) {
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", l.pid))
	for _, e := range tasks {
		tid, _ := strconv.Atoi(e.Name())
		tids = append(tids, tid)
	}
	return tids
}

// "?" is code that is not Go's. inText: all is in the program's text.
func (l *live) walk(regs *frames.Regs) (names []string, inText bool, why frames.StopReason) {
	var w frames.Walker
	w.Init(l.space, regs, l.mem)
	inText = true
	for w.Next() {
		fr := w.Frame()
		inText = inText && fr.Module != nil
		name := "?"
		if fn, ok := l.tab.find(fr.LookupPC(frames.X86_64)); ok {
			name = string(l.tab.name(&fn))
		}
		names = append(names, name)
	}
	return names, inText, w.StopReason()
}

func TestStacksOfALiveProgramReachTheirRoots(t *testing.T) {
	reachRoots(t, build(t, busy, noCgo, "-ldflags=-s -w"), 200)
	for _, r := range olderReleases(t) {
		t.Run("go"+r, func(t *testing.T) { reachRoots(t, build(t, busy, with(r, noCgo...), "-ldflags=-s -w"), 100) })
	}
}

func reachRoots(t *testing.T, path string, atLeast int) {
	l := start(t, path)
	outer, through := map[string]int{}, map[string]int{}
	total, elsewhere, grown, switched := 0, 0, 0, 0
	end := time.Now().Add(2 * time.Minute)
	enough := func() bool { return total >= atLeast && grown > 0 && switched > 0 }
	for n := 0; n < 150 && total < 2*atLeast || !enough() && time.Now().Before(end); n++ {
		for _, tid := range l.threads() {
			regs, ok := stop(t, tid)
			if !ok {
				continue
			}
			names, inText, why := l.walk(regs)
			syscall.PtraceDetach(tid)
			if !inText {
				elsewhere++
				continue
			}
			total++
			last := names[len(names)-1]
			outer[last]++
			for _, n := range names {
				through[n]++
			}
			if names[0] == "runtime.doSigPreempt" && why == frames.StopNoRule { // in pushCall (walkStep)
				continue
			}
			if why != frames.StopRoot || !strings.HasPrefix(last, "runtime.") && last != "gogo" {
				t.Errorf("%v: %s", why, strings.Join(names, " < "))
			}
			if i := slices.Index(names, "runtime.morestack"); i >= 0 && i < len(names)-1 {
				grown++
				if last != "runtime.goexit" {
					t.Errorf("%v", names)
				}
			}
			if i := slices.Index(names, "runtime.systemstack"); i >= 0 {
				switched++
				if last != "runtime.goexit" && last != "runtime.rt0_go" {
					t.Errorf("%v", names)
				}
			}
		}
	}
	t.Logf("%d stacks, %d in other code; outermost %v; systemstack %d, morestack %d, mcall %d, asyncPreempt %d, "+
		"sigtramp %d", total, elsewhere,
		outer, through["runtime.systemstack"], through["runtime.morestack"], through["runtime.mcall"],
		through["runtime.asyncPreempt"], through["runtime.sigtramp"])
	if !enough() {
		t.Errorf("%d stacks, %d of them growing, %d on the system stack", total, grown, switched)
	}
}

func stop(t *testing.T, tid int) (*frames.Regs, bool) {
	if err := syscall.PtraceAttach(tid); err != nil {
		return nil, false
	}
	var ws syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(tid, &ws, syscall.WALL, nil); err != nil {
			t.Fatal(err)
		}
		if !ws.Stopped() {
			return nil, false
		}
		if ws.StopSignal() == syscall.SIGSTOP {
			break
		}
		syscall.PtraceCont(tid, int(ws.StopSignal()))
	}
	return readRegs(tid)
}

func readRegs(tid int) (*frames.Regs, bool) {
	var p syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &p); err != nil {
		return nil, false
	}
	r := &frames.Regs{Arch: frames.X86_64, PC: p.Rip, TLS: p.Fs_base}
	for reg, v := range [16]uint64{p.Rax, p.Rdx, p.Rcx, p.Rbx, p.Rsi, p.Rdi, p.Rbp, p.Rsp, p.R8, p.R9, p.R10, p.R11, p.R12,
		p.R13, p.R14, p.R15} {
		r.Set(uint8(reg), v)
	}
	return r, true
}
