// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/testtargets"
)

// JavaOptions select how a Java program is stepped.
type JavaOptions struct {
	Warm time.Duration
	// Ran is the CPU time that the main thread must have used before: a starting machine cannot be read yet.
	Ran     time.Duration
	Steps   int
	Until   time.Time
	Stretch int                              // instructions; in between the program runs freely
	Seed    uint64                           // of the random pauses between stretches
	Log     func(format string, args ...any) // gets the first wrong and short answers; may be nil
	Show    int
}

type javaRun struct {
	opt    JavaOptions
	pid    int
	tid    int
	proc   *loadedcode.Process
	regs   frames.Regs
	prev   frames.Regs
	calls  []javaCall // true callers, outermost first
	base   int
	pushed uint64
	insn   [maxInsn]byte
	stack  [32 << 10]byte
	snap   frames.Snapshot
	w      frames.Walker
	kinds  map[uint64]string
	pieces map[uint64]uint64
	tally  *JavaTally
	mode   string
	steps  int
	ended  bool
	asked  bool
	rand   *rand.Rand
}

type javaCall struct {
	pc     uint64
	slot   uint64
	kept   uint64 // where it is now, as the callee may move it; 0: unknown
	popped bool
}

// errLost ends a stretch whose true chain is unknown.
var errLost = errors.New("lost")

// RunJava starts a Java program and steps its main thread.
func RunJava(mode string, argv []string, opt JavaOptions, t *JavaTally) error {
	runtime.LockOSThread() // only the thread that seized it may step it
	defer runtime.UnlockOSThread()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stderr, err := testtargets.KeepErrors(cmd)
	if err != nil {
		return fmt.Errorf("%s: %w", mode, err)
	}
	defer stderr.Close()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", mode, err)
	}
	tid := 0
	defer func() {
		_ = cmd.Process.Kill()
		if tid != 0 {
			_, _ = unix.Wait4(tid, nil, unix.WALL, nil) // the process exists until its traced thread is waited for
		}
		_ = cmd.Wait()
	}()
	time.Sleep(opt.Warm) // the JVM compiles what runs: the code is the subject
	opt.Until = opt.Until.Add(awaitRun(cmd.Process.Pid, opt.Ran))
	proc, err := loadedcode.Open(cmd.Process.Pid)
	if err != nil {
		return fmt.Errorf("%s: %w: %v", mode, err, stderr)
	}
	defer proc.Close()
	o := &javaRun{
		opt: opt, pid: cmd.Process.Pid, proc: proc, tally: t, mode: mode, rand: rand.New(rand.NewPCG(opt.Seed, 1)),
	}
	if o.tid, err = mainJavaThread(proc); err != nil {
		return fmt.Errorf("%s: %w", mode, err)
	}
	if err := unix.PtraceSeize(o.tid); err != nil {
		return fmt.Errorf("%s: seize: %w", mode, err)
	}
	tid = o.tid
	t.init()
	for i := 0; o.steps < opt.Steps && (time.Now().Before(opt.Until) || o.steps == 0 && i < leastStretches); i++ {
		err := o.stretch()
		if err != nil && !errors.Is(err, errLost) {
			return fmt.Errorf("%s: %w", mode, err)
		}
		if o.ended {
			return fmt.Errorf("%s: the program ended: %v", mode, stderr)
		}
		if err := unix.PtraceCont(o.tid, 0); err != nil {
			return fmt.Errorf("%s: continue: %w", mode, err)
		}
		time.Sleep(time.Duration(1+o.rand.IntN(20)) * time.Millisecond) // the subject: another moment of the program
	}
	return nil
}

// awaitRun returns how long the thread took for the CPU time.
func awaitRun(pid int, ran time.Duration) time.Duration {
	begun := time.Now()
	for time.Since(begun) < maxAwaitRun {
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			break
		}
		for _, task := range tasks {
			if tid, err := strconv.Atoi(task.Name()); err == nil && ranFor(pid, tid) >= uint64(ran) {
				return time.Since(begun)
			}
		}
		time.Sleep(10 * time.Millisecond) // until the clock is read again
	}
	return time.Since(begun)
}

const maxAwaitRun = time.Minute

// leastStretches are made even if the time is over, if nothing was checked.
const leastStretches = 200

// mainJavaThread returns the thread with the launcher's name that has used the most CPU time.
func mainJavaThread(p *loadedcode.Process) (int, error) {
	tids, err := p.Threads(nil)
	if err != nil {
		return 0, err
	}
	best, most := 0, uint64(0)
	for _, tid := range tids {
		if name := p.ThreadName(tid); name != "java" && name != "main" {
			continue
		}
		if used := ranFor(p.PID, tid); used >= most {
			best, most = tid, used
		}
	}
	if best == 0 {
		return 0, errors.New("there is no thread of the name java")
	}
	return best, nil
}

func (o *javaRun) stretch() error {
	if err := unix.PtraceInterrupt(o.tid); err != nil {
		return fmt.Errorf("interrupt: %w", err)
	}
	if sig, err := o.wait(); err != nil || o.ended {
		return err
	} else if !o.asked && sig != unix.SIGTRAP {
		return o.signal(sig)
	}
	if _, err := readRegs(o.tid, &o.regs); err != nil {
		return err
	}
	if _, err := o.proc.Refresh(); err != nil {
		return fmt.Errorf("refresh: %w", err)
	}
	o.kinds, o.pieces = map[uint64]string{}, map[uint64]uint64{}
	if err := o.begin(); err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	for range o.opt.Stretch {
		if err := o.step(); err != nil || o.ended {
			return err
		}
		if o.generated(o.regs.PC) {
			o.steps++
		}
		if err := o.check(); err != nil {
			return err
		}
	}
	return nil
}

// begin takes the present callers from a walk, which must end at the thread's root.
func (o *javaRun) begin() error {
	o.pushed = 0
	for try := 0; ; try++ {
		o.read()
		o.calls = o.calls[:0]
		if o.callers() == frames.StopRoot {
			break
		}
		if try == maxBegin {
			o.tally.lost(o, "no beginning")
			return errLost
		}
		if o.generated(o.regs.PC) {
			o.steps++
			o.tally.count(o, o.regs.PC, false, short)
			o.explain("no beginning", 0, o.w.StopReason())
		}
		if err := o.single(); err != nil || o.ended {
			return err
		}
	}
	for i, j := 0, len(o.calls)-1; i < j; i, j = i+1, j-1 {
		o.calls[i], o.calls[j] = o.calls[j], o.calls[i]
	}
	o.calls = o.calls[:len(o.calls)-1]
	o.base = len(o.calls)
	for !o.generated(o.regs.PC) {
		n := len(o.calls)
		if n == 0 {
			o.tally.lost(o, "not in Java")
			return errLost
		}
		back := o.calls[n-1]
		o.calls = o.calls[:n-1]
		if o.generated(back.pc) {
			if err := o.runTo(back); err != nil || o.ended {
				return err
			}
		}
	}
	o.base = len(o.calls)
	return nil
}

func (o *javaRun) callers() frames.StopReason {
	callee := javaCallee{sp: o.regs.SP()}
	return o.walk(func(f *frames.Frame) {
		o.calls = append(o.calls, o.found(f, &callee))
		callee.fp, _ = o.w.Regs().Get(frames.X86RBP)
		callee.innermost, callee.interpreted = len(o.calls) == 1, o.kind(f.PC) == interpreterName
	})
}

// found makes a caller from before the stretch. Its return address is in its slot, unless an exception has ended the
// frame, or right above the callee's rbp, where the interpreter has moved it because the method has more local
// variables than arguments.
func (o *javaRun) found(f *frames.Frame, callee *javaCallee) javaCall {
	c := javaCall{pc: f.PC, slot: callee.returnSlot(f, o.word)}
	switch above := callee.fp + 8; {
	case callee.interpreted && above > callee.sp && above < c.slot && o.word(above) == f.PC:
		c.kept = above
	case o.word(c.slot) == f.PC:
		c.kept = c.slot
	}
	return c
}

type javaCallee struct {
	sp, fp                 uint64
	innermost, interpreted bool
}

// returnSlot is right below the caller's stack pointer at the call. An adapter for method handles moves it up into the
// place of an argument that it removes.
func (c *javaCallee) returnSlot(f *frames.Frame, word func(uint64) uint64) uint64 {
	moved := c.innermost && (c.sp == f.SP || c.sp == f.SP-8) || c.interpreted && c.fp+8 == f.SP
	if moved && word(f.SP) == f.PC {
		return f.SP
	}
	return f.SP - 8
}

const maxBegin = 64

func (o *javaRun) walk(each func(*frames.Frame)) frames.StopReason {
	o.w.MaxDepth = -1
	o.w.Init(o.proc.Space(), &o.regs, &o.snap)
	for o.w.Next() {
		f := o.w.Frame()
		each(&f)
	}
	return o.w.StopReason()
}

func (o *javaRun) single() error {
	o.prev = o.regs
	var sig unix.Signal
	for o.asked = true; o.asked; {
		if err := unix.PtraceSingleStep(o.tid); err != nil {
			return fmt.Errorf("step: %w", err)
		}
		var err error
		if sig, err = o.wait(); err != nil || o.ended {
			return err
		}
	}
	if sig != unix.SIGTRAP {
		return o.signal(sig)
	}
	_, err := readRegs(o.tid, &o.regs)
	return err
}

func (o *javaRun) step() error {
	code := append([]byte(nil), o.insn[:]...)
	if err := o.single(); err != nil || o.ended {
		return err
	}
	o.read()
	if err := o.follow(code); err != nil {
		return err
	}
	if n := len(o.calls); kindX86(code) == call && !o.generated(o.regs.PC) && o.generated(o.prev.PC) && n > 0 {
		if err := o.check(); err != nil {
			return err
		}
		back := o.calls[n-1]
		o.calls = o.calls[:n-1]
		if err := o.runTo(back); err != nil || o.ended {
			return err
		}
		o.read()
	}
	return nil
}

func (o *javaRun) read() {
	from := o.regs.SP() - 128
	top := o.proc.StackEnd(o.regs.SP())
	n := min(uint64(len(o.stack)), top-from)
	insn := []unix.Iovec{{Base: &o.stack[0]}, {Base: &o.insn[0]}}
	insn[0].SetLen(int(n))
	insn[1].SetLen(len(o.insn))
	clear(o.insn[:])
	remote := []unix.RemoteIovec{{Base: uintptr(from), Len: int(n)}, {Base: uintptr(o.regs.PC), Len: len(o.insn)}}
	got, err := unix.ProcessVMReadv(o.tid, insn, remote, 0)
	if err != nil {
		got = 0
	}
	o.snap = frames.Snapshot{Stack: frames.Region{Addr: from, Bytes: o.stack[:min(got, int(n))]}, StackEnd: top}
}

func (o *javaRun) word(addr uint64) uint64 {
	at := addr - o.snap.Stack.Addr
	if at+8 > uint64(len(o.snap.Stack.Bytes)) {
		return 0
	}
	return binary.LittleEndian.Uint64(o.snap.Stack.Bytes[at:])
}

func (o *javaRun) generated(pc uint64) bool {
	m := o.proc.Space().ModuleAt(pc)
	return m != nil && m.Generated
}

func (o *javaRun) kind(pc uint64) string {
	k, ok := o.kinds[pc]
	if !ok {
		if m := o.proc.Space().ModuleAt(pc); m != nil {
			if d, ok := m.Owner.(interface{ Blob(uint64) string }); ok {
				k = d.Blob(pc)
			}
		}
		o.kinds[pc] = k
	}
	return k
}

// piece returns the start of the compiled method or stub at pc; 0: none.
func (o *javaRun) piece(pc uint64) uint64 {
	begin, ok := o.pieces[pc]
	if !ok {
		if m := o.proc.Space().ModuleAt(pc); m != nil {
			if r, ok := m.Owner.(interface {
				FuncRange(pc uint64) (start, end uint64, ok bool)
			}); ok {
				if start, _, ok := r.FuncRange(pc); ok {
					begin = start
				}
			}
		}
		o.pieces[pc] = begin
	}
	return begin
}
