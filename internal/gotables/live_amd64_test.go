package gotables

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
	"prywalk/internal/procmem"
)

// busy is a program whose threads collect garbage, grow stacks, read the clock,
// take signals and sleep.
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
	for range 2 {
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

// procMem is the memory of a stopped process.
type procMem struct{ f *os.File }

func (m procMem) Word(a uint64) (uint64, bool) {
	var b [8]byte
	if n, _ := m.f.ReadAt(b[:], int64(a)); n != 8 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[:]), true
}

func (procMem) Cut(uint64) bool { return false }

// live is a running program and what is needed to walk its stacks.
type live struct {
	tab   *Table
	space *frames.Space
	mem   procMem
	pid   int
}

// start runs a program until the test ends. The calling goroutine keeps its
// thread, which alone may trace.
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
	space.SetModules([]*frames.Module{{Start: text.Addr, End: text.Addr + text.Size, Sources: append([]frames.RuleSource{tab}, more...)}})
	return live{tab, space, procMem{mem}, cmd.Process.Pid}
}

// await waits for what must come. How soon it comes is up to the machine.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

// threads lists the program's threads.
func (l *live) threads() (tids []int) {
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", l.pid))
	for _, e := range tasks {
		tid, _ := strconv.Atoi(e.Name())
		tids = append(tids, tid)
	}
	return tids
}

// walk gives the names of a stopped thread's frames, "?" for code that is not
// Go's, and whether all of it was in the program's text.
func (l *live) walk(regs *frames.Regs) (names []string, inText bool, why frames.StopReason) {
	var w frames.Walker
	w.Init(l.space, regs, l.mem)
	inText = true
	for w.Next() {
		fr := w.Frame()
		inText = inText && fr.Module != nil
		name := "?"
		if fn, ok := l.tab.find(fr.Lookup(frames.X86_64)); ok {
			name = string(l.tab.name(&fn))
		}
		names = append(names, name)
	}
	return names, inText, w.StopReason()
}

// TestStacksOfALiveProgramReachTheirRoots stops the threads of a busy program
// again and again and walks their stacks with rules from the table only.
func TestStacksOfALiveProgramReachTheirRoots(t *testing.T) {
	l := start(t, build(t, busy, noCgo, "-ldflags=-s -w"))
	outer, through := map[string]int{}, map[string]int{}
	total, elsewhere, grown := 0, 0, 0
	end := time.Now().Add(2 * time.Minute)
	for n := 0; n < 150 || (total < 200 || grown == 0) && time.Now().Before(end); n++ {
		for _, tid := range l.threads() {
			regs, ok := stop(t, tid)
			if !ok {
				continue
			}
			names, inText, why := l.walk(regs)
			syscall.PtraceDetach(tid)
			if !inText { // in the vDSO
				elsewhere++
				continue
			}
			total++
			last := names[len(names)-1]
			outer[last]++
			for _, n := range names {
				through[n]++
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
		}
		time.Sleep(3 * time.Millisecond)
	}
	t.Logf("%d stacks, %d in other code; outermost %v; systemstack %d, morestack %d, mcall %d, asyncPreempt %d, sigtramp %d", total, elsewhere,
		outer, through["runtime.systemstack"], through["runtime.morestack"], through["runtime.mcall"], through["runtime.asyncPreempt"], through["runtime.sigtramp"])
	if total < 200 || grown == 0 {
		t.Errorf("%d stacks, %d of them growing", total, grown)
	}
}

// callbacks is a program whose goroutine is in Go, called from C, called from
// Go; the callback moves the goroutine's stack.
const callbacks = `package main

/*
extern int back(int);
static int there(int n) { volatile int x = back(n); return x + 1; }
*/
import "C"

var n uint64

//go:noinline
func deep(k int) int {
	var a [100]int
	if k > 0 {
		a[k%100] = deep(k - 1)
	}
	return a[(k+1)%100]
}

//go:noinline
func spin() {
	for {
		n++
	}
}

//export back
func back(k C.int) C.int {
	deep(200)
	spin()
	return k
}

//go:noinline
func enter() { C.there(3) }

func main() { enter() }
`

// byFramePointer is the rule of C code built with frame pointers, past its
// prologue.
type byFramePointer struct{}

// Rule implements frames.RuleSource.
func (byFramePointer) Rule(frames.Query) (frames.Rule, *frames.Row, bool) {
	r := frames.Rule{CFAReg: frames.X86RBP, CFAOff: 16, Method: frames.MethodCFI}
	r.Saved[0] = 2
	return r, nil, true
}

// TestCallbacksFromCLeadBackToTheGoroutine walks Go called by C called by Go.
func TestCallbacksFromCLeadBackToTheGoroutine(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc")
	}
	path := build(t, callbacks, append([]string{"CGO_CFLAGS=-O0 -fno-omit-frame-pointer"}, withCgo...), "-ldflags=-s -w")
	l := start(t, path, byFramePointer{})
	want := []string{"main.spin", "main.back", "_cgoexp", "runtime.cgocallbackg1", "runtime.cgocallbackg", "runtime.cgocallback", "crosscall2", "?",
		"runtime.asmcgocall", "runtime.cgocall", "main._Cfunc_there", "main.enter", "main.main", "runtime.main", "runtime.goexit"}
	found := 0
	look := func(tid int) {
		regs, ok := stop(t, tid)
		if !ok {
			return
		}
		names, _, why := l.walk(regs)
		syscall.PtraceDetach(tid)
		if len(names) == 0 || names[0] != "main.spin" {
			return
		}
		found++
		rest := names
		for _, n := range want {
			for len(rest) > 0 && !strings.HasPrefix(rest[0], n) {
				rest = rest[1:]
			}
		}
		if len(rest) != 1 || why != frames.StopRoot {
			t.Errorf("%v: %v", why, names)
		}
	}
	await(t, "a thread in main.spin", func() bool {
		for _, tid := range l.threads() {
			look(tid)
		}
		return found > 0
	})
}

// TestEveryStepReachesTheRoot steps threads of a busy program through thousands of
// instructions, signal handlers and stack switches among them, and walks after
// each.
func TestEveryStepReachesTheRoot(t *testing.T) {
	l := start(t, build(t, busy, noCgo, "-ldflags=-s -w"))
	steps, through, bad := 0, map[string]int{}, map[string]int{}
	for _, tid := range l.threads() {
		regs, ok := stop(t, tid)
		for n := 0; ok && n < 1500; n++ {
			steps++
			walkStep(l.tab, l.space, regs, l.mem, through, bad)
			if n%1000 == 500 { // a signal in mid-air
				syscall.Tgkill(l.pid, tid, syscall.SIGUSR1)
			}
			regs, ok = step(tid)
		}
		release(l.pid, tid, ok)
	}
	t.Logf("%d steps; systemstack %d, morestack %d, mcall %d, gogo %d, sigtramp %d, sigreturn %d, direct calls %d", steps, through["runtime.systemstack"],
		through["runtime.morestack"], through["runtime.mcall"], through["gogo"], through["runtime.sigtramp"], through["runtime.sigreturn__sigaction"], through["(direct call)"])
	for s, n := range bad {
		t.Errorf("%d times %s", n, s)
	}
}

// walkStep walks one stack and notes how it fails.
func walkStep(tab *Table, space *frames.Space, regs *frames.Regs, mem frames.Memory, through, bad map[string]int) {
	var w frames.Walker
	w.Init(space, regs, mem)
	var names []string
	var callee fn
	for w.Next() {
		fr := w.Frame()
		if fr.Module == nil {
			return // the vDSO
		}
		fn, _ := tab.find(fr.Lookup(frames.X86_64))
		if target, ok := tab.callBeforeX86(fr.PC); fr.Caller && ok && callee.entry != 0 {
			// What was called must be what was found running, or
			// assembly or a wrapper of the same name that jumps to it.
			if to, _ := tab.find(target); string(tab.name(&to)) != string(tab.name(&callee)) && to.flag&flagAsm == 0 {
				bad[fmt.Sprintf("%s called %s, not %s", tab.name(&fn), tab.name(&to), tab.name(&callee))]++
			}
			through["(direct call)"]++
		}
		callee = fn
		names = append(names, fmt.Sprintf("%s+%#x", tab.name(&fn), fr.PC-fn.entry))
		through[string(tab.name(&fn))]++
	}
	if w.StopReason() != frames.StopRoot {
		bad[w.StopReason().String()+": "+strings.Join(names, " < ")]++
	}
}

// release detaches from a thread, which it stops first if it fell asleep: one
// that dies attached would have to be waited for.
func release(pid, tid int, stopped bool) {
	if !stopped {
		var ws syscall.WaitStatus
		syscall.Tgkill(pid, tid, syscall.SIGSTOP)
		syscall.Wait4(tid, &ws, syscall.WALL, nil)
	}
	syscall.PtraceDetach(tid)
}

// step runs one instruction of a stopped thread; false where it ends or sleeps.
func step(tid int) (*frames.Regs, bool) {
	if syscall.PtraceSingleStep(tid) != nil {
		return nil, false
	}
	// On a busy machine it can take long until it runs; one that sleeps says so.
	for n := 0; n < 200 || !asleep(tid) && n < 100_000; n++ {
		var ws syscall.WaitStatus
		got, err := syscall.Wait4(tid, &ws, syscall.WALL|syscall.WNOHANG, nil)
		if err != nil || got == tid && !ws.Stopped() {
			return nil, false
		}
		if got == tid {
			if sig := ws.StopSignal(); sig != syscall.SIGTRAP && sig != syscall.SIGSTOP {
				// Deliver it: the step that is asked for next enters the
				// handler.
				return deliver(tid, sig)
			}
			return readRegs(tid)
		}
		time.Sleep(100 * time.Microsecond)
	}
	return nil, false
}

// asleep reports whether a thread sleeps.
func asleep(tid int) bool {
	var st procmem.Stat
	return procmem.ReadStat(tid, &st) != nil || st.State == 'S' || st.State == 'D'
}

// deliver single-steps with a signal, which puts the thread at the first
// instruction of its handler.
func deliver(tid int, sig syscall.Signal) (*frames.Regs, bool) {
	const ptraceSingleStep = 9
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PTRACE, ptraceSingleStep, uintptr(tid), 0, uintptr(sig), 0, 0); e != 0 {
		return nil, false
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(tid, &ws, syscall.WALL, nil); err != nil || !ws.Stopped() {
		return nil, false
	}
	return readRegs(tid)
}

// stop attaches to a thread and reads its registers.
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

// readRegs reads the registers of a stopped thread.
func readRegs(tid int) (*frames.Regs, bool) {
	var p syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &p); err != nil {
		return nil, false
	}
	r := &frames.Regs{Arch: frames.X86_64, PC: p.Rip, TLS: p.Fs_base}
	for reg, v := range [16]uint64{p.Rax, p.Rdx, p.Rcx, p.Rbx, p.Rsi, p.Rdi, p.Rbp, p.Rsp, p.R8, p.R9, p.R10, p.R11, p.R12, p.R13, p.R14, p.R15} {
		r.Set(uint8(reg), v)
	}
	return r, true
}
