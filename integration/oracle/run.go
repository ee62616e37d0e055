// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/runtimes/golang"
)

// Options select what is stepped.
type Options struct {
	Steps   int                              // for the program, over all its sections
	Until   time.Time                        // if set, the end of stepping
	Section int                              // most steps between two marks; 0: Steps/40
	Log     func(format string, args ...any) // gets the first wrong answers; may be nil
	Show    int
	Only    string                // parts of sections' names, separated by commas; "": all
	Each    func(function string) // gets the symbol of each instruction's function; may be nil
}

type run struct {
	opt    Options
	pid    int
	proc   *loadedcode.Process
	code   codePages
	regs   frames.Regs
	prev   frames.Regs
	cur    *shadow
	stacks map[uint64]*shadow
	isGo   bool
	top    uint64
	judges []*judge
	files  *files
	chain  []want
	buf    []byte
	snap   frames.Snapshot
	tally  *Tally
	insn   [maxInsn]byte
	// moving: the thread is between the load of another stack's pointer and the return to that stack. The chain is
	// undefined.
	moving  bool
	ended   bool
	pending []pendingAnswer
	goImage *loadedcode.Image
	mcurg   int64 // Go: offset in m of its goroutine
	schedSP int64 // Go: offset in g of the stack pointer at which it was left
}

const markMagicValue = 0x656c6361726f

// Run starts and steps a program, and counts into t.
func Run(name string, argv []string, opt Options, t *Tally) error {
	runtime.LockOSThread() // only the thread that started it may trace it
	defer runtime.UnlockOSThread()
	defer oneProcessor()()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "GODEBUG=asyncpreemptoff=1", "LC_ALL=C", "GOMAXPROCS=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	o := &run{opt: opt, pid: cmd.Process.Pid, tally: t}
	if o.opt.Section == 0 {
		o.opt.Section = max(1000, opt.Steps/40)
	}
	o.code = codePages{tid: o.pid, pages: map[uint64]*[pageSize]byte{}}
	t.program = name
	err := o.program()
	if kerr := cmd.Process.Kill(); kerr == nil {
		_, _ = cmd.Process.Wait()
	}
	if o.proc != nil {
		o.proc.Close()
	}
	return err
}

func (o *run) program() error {
	if _, err := o.wait(); err != nil {
		return err
	}
	if err := unix.PtraceSetOptions(o.pid, unix.PTRACE_O_EXITKILL); err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	for start := o.tally.Steps(); o.tally.Steps()-start < o.opt.Steps && !o.late(); {
		name, err := o.toMark()
		if err != nil {
			return err
		}
		if o.ended {
			if o.tally.Steps() == start {
				return errors.New("the program ended without a section that was stepped")
			}
			return nil
		}
		if name == "" || !o.opt.wants(name) {
			continue
		}
		if err := o.section(min(o.opt.Section, o.opt.Steps-(o.tally.Steps()-start))); err != nil {
			return fmt.Errorf("section %s: %w", name, err)
		}
	}
	return nil
}

func (o *Options) wants(section string) bool {
	for part := range strings.SplitSeq(o.Only, ",") {
		if strings.Contains(section, part) {
			return true
		}
	}
	return false
}

func (o *run) late() bool { return !o.opt.Until.IsZero() && time.Now().After(o.opt.Until) }

func (o *run) wait() (unix.Signal, error) {
	var ws unix.WaitStatus
	for {
		_, err := unix.Wait4(o.pid, &ws, unix.WALL, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, fmt.Errorf("wait: %w", err)
		case ws.Stopped():
			return ws.StopSignal(), nil
		default:
			o.ended = true
			return 0, nil
		}
	}
}

func (o *run) toMark() (string, error) {
	sig := unix.Signal(0)
	for {
		if err := unix.PtraceCont(o.pid, int(sig)); err != nil {
			return "", fmt.Errorf("continue: %w", err)
		}
		var err error
		if sig, err = o.wait(); err != nil || o.ended {
			return "", err
		}
		if sig == unix.SIGTRAP {
			name, ok, err := o.mark()
			if ok || err != nil {
				return name, err
			}
		}
	}
}

func (o *run) mark() (string, bool, error) {
	if err := skipTrap(o.pid); err != nil {
		return "", false, err
	}
	if _, err := readRegs(o.pid, &o.regs); err != nil {
		return "", false, err
	}
	if o.regs.Val[markMagic] != markMagicValue {
		return "", false, nil
	}
	var b [64]byte
	if _, err := procmem.ReadVM(o.pid, o.regs.Val[markName], b[:]); err != nil {
		return "", false, fmt.Errorf("name of a mark: %w", err)
	}
	name, _, _ := strings.Cut(string(b[:]), "\x00")
	return name, true, nil
}

// section steps until a mark or the end of the budget, then until no answer is pending.
func (o *run) section(budget int) error {
	if err := o.begin(); err != nil {
		return err
	}
	defer func() { o.judgePending(false) }()
	for i := 0; i < budget || len(o.pending) > 0 && i < budget+maxAhead; i++ {
		if i%64 == 0 && o.late() {
			return nil
		}
		k := insnKind(o.regs.Arch, o.code.instruction(o.regs.PC, &o.insn))
		if k == trap {
			return nil
		}
		over, err := o.step(k)
		if over || err != nil {
			return err
		}
		o.tally.step(o)
		if o.opt.Each != nil {
			o.opt.Each(o.files.funcName(o.regs.PC))
		}
		if !o.moving {
			o.check()
		} else {
			o.tally.moving++
			o.checkMoving()
		}
	}
	return nil
}

func (o *run) begin() error {
	if err := o.refresh(); err != nil {
		return err
	}
	o.cur = &shadow{}
	o.stacks = map[uint64]*shadow{}
	o.moving = false
	var w frames.Walker
	w.Init(o.proc.Space(), &o.regs, liveMemory(o.pid))
	for w.Next() {
		f := w.Frame()
		o.cur.push(activation{pc: f.PC, slot: f.SP - 8, sp: f.SP})
		o.top = f.SP
	}
	if w.StopReason() != frames.StopRoot {
		return fmt.Errorf("at the mark the walk ends with %v: %v", w.StopReason(),
			o.files.chainText(o.cur.chain(nil, &o.regs)))
	}
	calls := o.cur.calls[1:]
	for i, j := 0, len(calls)-1; i < j; i, j = i+1, j-1 {
		calls[i], calls[j] = calls[j], calls[i]
	}
	o.cur.calls, o.cur.base = calls, len(calls)
	o.cur.id = o.stackID(o.regs.SP())
	o.stacks[o.cur.id] = o.cur
	return nil
}

func (o *run) refresh() error {
	if o.proc == nil {
		p, err := loadedcode.Open(o.pid)
		if err != nil {
			return err
		}
		o.proc, o.files = p, newFiles(p)
		m := p.Main()
		if m != nil {
			if at := loadedcode.MappingOf(m); at != nil && at.Image != nil {
				o.learnGo(at.Image)
			}
		}
		o.judges = o.makeJudges()
		return nil
	}
	changed, err := o.proc.Refresh()
	if err != nil {
		return err
	}
	if changed {
		o.code.forget()
		clear(o.files.emptyCFI)
		for _, j := range o.judges {
			j.renew(o)
		}
	}
	return nil
}

func (o *run) learnGo(img *loadedcode.Image) {
	t, is := img.Table().(*golang.Table)
	if !is {
		return
	}
	if c, ok := t.GOffsets(); ok {
		o.isGo, o.mcurg, o.schedSP, o.goImage = true, c.MCurg, c.SchedSP, img
	}
}

// On one processor a step takes a tenth of the time.
func oneProcessor() func() {
	var old, one unix.CPUSet
	if unix.SchedGetaffinity(0, &old) != nil {
		return func() {}
	}
	for cpu := 8*len(old)*8 - 1; cpu >= 0; cpu-- {
		if old.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	if unix.SchedSetaffinity(0, &one) != nil {
		return func() {}
	}
	return func() { _ = unix.SchedSetaffinity(0, &old) }
}
